package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Reason explains why a network is not in its desired state. It is the reason
// of the condition Ready, and decides when to retry.
type Reason string

// Values of Reason.
const (
	// InUse: the request would break users of the network. It is retried once they
	// are gone.
	InUse Reason = "NetworkInUse"
	// QuotaExceeded: a quota of the external system is exhausted. It is retried
	// slowly: a person has to change that.
	QuotaExceeded Reason = "QuotaExceeded"
	// Conflict: another client changed the object at the same time. It is retried
	// at once, from the new state.
	Conflict Reason = "Conflict"
	// Foreign: an object that the backend did not create is in the way, and stays
	// unchanged. It is retried slowly: a person has to change that.
	Foreign Reason = "Foreign"
	// Denied: the backend lacks permission (401, 403). It is retried slowly.
	Denied Reason = "Denied"
	// Invalid: the external system will never accept the Network as written. It is
	// not retried until the Network changes.
	Invalid Reason = "Invalid"
	// Collision: the range belongs to the cluster itself, so the backend is not
	// asked. It is retried slowly: nodes come and go.
	Collision Reason = "ClusterRange"
	// Unavailable: everything else: no response, a broken connection, a server
	// error. It is retried with back-off.
	Unavailable Reason = "BackendUnavailable"
)

// Terminal reports whether a retry is useless until the Network changes.
func (r Reason) Terminal() bool { return r == Invalid }

// Slow reports whether a person has to act, so that retries are slow.
func (r Reason) Slow() bool {
	return r == QuotaExceeded || r == Foreign || r == Denied || r == Collision
}

// An Error is a failure with a known reason.
type Error struct {
	Reason Reason
	// Users are sorted; only InUse has them.
	Users []string
	// After is how soon the external system wants to be asked again; zero if it
	// did not say.
	After time.Duration
	// Err explains what was found, where, and what to do, for a condition's
	// message. It never contains credentials.
	Err error
}

// Errorf returns an Error with a reason.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Used returns the Error for a network in use and a requested change, such as
// "replacing 10.0.0.0/24 with 10.1.0.0/24".
func Used(what string, users []string) *Error {
	return &Error{Reason: InUse, Users: users, Err: fmt.Errorf("%s waits until the network is unused: its users are %s", what, Listed(users))}
}

// Error returns the message of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of an error, by default Unavailable.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Unavailable
}

// UsersOf returns the users that an error names.
func UsersOf(err error) []string {
	if e, ok := errors.AsType[*Error](err); ok {
		return slices.Clone(e.Users)
	}
	return nil
}

// AfterOf returns how soon to retry according to the external system; zero if it
// did not say.
func AfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}

// shown limits the users that a message names.
const shown = 5

// Listed formats names for a message: the first few, and the number of others.
func Listed(names []string) string {
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}
