package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Reason says why a network is not as wanted. It is the reason of the
// condition Ready, and tells when to try again.
type Reason string

// Why a network is not as wanted.
const (
	// InUse: what was asked would break what uses the network. Tried again when
	// that is gone.
	InUse Reason = "NetworkInUse"
	// QuotaExceeded: the outside world grants no more. Tried again slowly: only
	// people change that.
	QuotaExceeded Reason = "QuotaExceeded"
	// Conflict: somebody else changed the thing at the same time. Tried again at
	// once, from what is there then.
	Conflict Reason = "Conflict"
	// Foreign: something that the backend did not make is in the way, and is
	// left as it is. Tried again slowly: only people change that.
	Foreign Reason = "Foreign"
	// Denied: the backend may not do it (401, 403). Tried again slowly.
	Denied Reason = "Denied"
	// Invalid: the outside world will never accept it as it is written. Not
	// tried again until the Network changes.
	Invalid Reason = "Invalid"
	// Unavailable: everything else: no answer, a cut connection, a server's
	// error. Tried again, ever more slowly.
	Unavailable Reason = "BackendUnavailable"
)

// Terminal says that trying again is of no use while the Network is as it is.
func (r Reason) Terminal() bool { return r == Invalid }

// Slow says that only people can help, who are not asked often.
func (r Reason) Slow() bool { return r == QuotaExceeded || r == Foreign || r == Denied }

// An Error is a failure whose reason is known.
type Error struct {
	Reason Reason
	// Users are sorted, of InUse alone.
	Users []string
	// Err says what was found, where, and what to do, for a condition's message.
	// It never holds credentials.
	Err error
}

// Errorf makes an Error of a reason.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Used makes the Error of a network in use, for what was asked of it, such as
// "replacing 10.0.0.0/24 by 10.1.0.0/24".
func Used(what string, users []string) *Error {
	return &Error{Reason: InUse, Users: users, Err: fmt.Errorf("%s waits until nothing uses the network: it is used by %s", what, Listed(users))}
}

// Error is the message of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf is the reason of an error, Unavailable where it has none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Unavailable
}

// UsersOf are the users an error names.
func UsersOf(err error) []string {
	if e, ok := errors.AsType[*Error](err); ok {
		return slices.Clone(e.Users)
	}
	return nil
}

// shown bounds how many users a message names.
const shown = 5

// Listed writes names for a message: the first few, and how many more.
func Listed(names []string) string {
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}
