package gather

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-dev/usher/cli/doctor"
)

// explain says why a call failed.
func explain(err error, c *Config) *doctor.Trouble {
	demands := "etcd's authentication is enabled: "
	switch {
	case isAny(err, rpctypes.ErrUserEmpty):
		return &doctor.Trouble{Kind: doctor.Credentials, Words: demands + "it tells its status to its users, and no user was given"}
	case isAny(err, rpctypes.ErrAuthFailed, rpctypes.ErrUserNotFound):
		return &doctor.Trouble{Kind: doctor.Credentials, Words: fmt.Sprintf("%sit does not know the user %s, or not with this password", demands, c.User)}
	case isAny(err, rpctypes.ErrPermissionDenied, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision):
		return &doctor.Trouble{Kind: doctor.Credentials, Words: demands + said(err)}
	case silent(err):
		return &doctor.Trouble{Kind: doctor.Silent, Words: fmt.Sprintf("it accepts connections, and did not answer within %s", c.CommandTimeout)}
	}
	return &doctor.Trouble{Kind: doctor.Strange, Words: "it does not answer as etcd's client port does: " + said(err)}
}

// isAny reports whether a call ended with one of etcd's errors.
func isAny(err error, any ...error) bool {
	for _, one := range any {
		if errors.Is(err, one) || errors.Is(rpctypes.Error(err), one) {
			return true
		}
	}
	return false
}

// silent reports whether a call had no answer.
func silent(err error) bool {
	code := status.Code(err)
	return errors.Is(err, context.DeadlineExceeded) || code == codes.DeadlineExceeded || code == codes.Unavailable && !isEtcd(err)
}

func isEtcd(err error) bool {
	var known rpctypes.EtcdError
	return errors.As(rpctypes.Error(err), &known)
}

// said returns the server's words, shortened.
func said(err error) string {
	const longest = 200
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// unreached describes the error of a connection attempt.
func unreached(err error, timeout time.Duration) *doctor.Trouble {
	var operation *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return &doctor.Trouble{Kind: doctor.Silent, Words: fmt.Sprintf("no connection within %s", timeout)}
	case errors.As(err, &operation):
		return &doctor.Trouble{Kind: doctor.Silent, Words: "no connection: " + strings.TrimPrefix(operation.Err.Error(), "connect: ")}
	}
	return &doctor.Trouble{Kind: doctor.Silent, Words: "no connection: " + said(err)}
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
