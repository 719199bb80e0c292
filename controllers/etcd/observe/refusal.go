package observe

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-dev/usher/controllers/etcd/login"
)

// Why members refuse a client that authentication is about.
const (
	WhyNoUser        = "etcd's authentication is enabled, and usher's client has no user that etcd knows"
	WhyWrongPassword = "etcd's authentication is enabled, and refuses the password of root"
	WhyNoRole        = "etcd's authentication is enabled, and the user of usher's client does not have the role root"
)

// A Refusal is how a member answers a client that it does not serve: the member
// lives, and says nothing else about itself.
//
// An answer with an error is one, such as those of etcd's authentication, and
// so is a TLS handshake that either side ends. A refused or dropped connection,
// one on which nothing comes back in time, and the code Unavailable are not: a
// proxy, or the kernel of a node, does the same for a member that is dead.
type Refusal struct {
	// Why is a phrase in usher's words: a server's text stays out of the status.
	Why string
	// Credentials: usher's client needs others.
	Credentials bool
	err         error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why + ": " + r.err.Error() }

// Unwrap returns the error of the call.
func (r *Refusal) Unwrap() error { return r.err }

// AsRefusal returns the refusal that an error is, or nil.
func AsRefusal(err error) *Refusal {
	var r *Refusal
	_ = errors.As(err, &r)
	return r
}

// Classify returns the refusal that the error of a call is, or else the error.
// handshake: a TLS handshake with the member has failed.
func Classify(err error, handshake bool) error {
	var answer rpctypes.EtcdError
	var failed *login.Failure
	switch code := status.Code(err); {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.Wrong:
		return &Refusal{WhyWrongPassword, true, err}
	case errors.As(err, &failed):
		return &Refusal{"etcd's authentication is enabled, and accepts no password without a majority", false, err}
	case is(err, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrAuthFailed, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision):
		return &Refusal{WhyNoUser, true, err}
	case is(err, rpctypes.ErrPermissionDenied):
		return &Refusal{WhyNoRole, true, err}
	case handshake:
		return &Refusal{"the TLS handshake fails", true, err}
	case errors.As(err, &answer):
		return &Refusal{fmt.Sprintf("it answers with the error %s", answer.Code()), false, err}
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Canceled, code == codes.Unknown:
		return err
	default:
		return &Refusal{fmt.Sprintf("it answers with the error %s", code), false, err}
	}
}

func is(err error, any ...error) bool {
	return slices.ContainsFunc(any, func(one error) bool { return errors.Is(err, one) })
}
