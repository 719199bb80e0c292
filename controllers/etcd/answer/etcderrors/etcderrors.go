// Package etcderrors says in usher's words what a member of etcd answered.
package etcderrors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/login"
)

// Explain returns the error of a call to etcd in usher's words, or nil. The errors
// that etcd's client knows by name keep that name, since it comes from a list.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if known := (*answer.Error)(nil); errors.As(err, &known) {
		return known
	}
	return answer.New(err, "%s", words(err))
}

func words(err error) string {
	if known := (rpctypes.EtcdError{}); errors.As(rpctypes.Error(err), &known) {
		return known.Error()
	}
	if failed := (*login.Failure)(nil); errors.As(err, &failed) {
		return failed.Error()
	}
	if known := answer.Network(err); known != "" {
		return known
	}
	code := status.Code(err)
	switch code {
	case codes.DeadlineExceeded:
		return "it does not answer in time"
	case codes.Canceled:
		return "usher stopped waiting for it"
	case codes.Unavailable:
		return "it cannot be reached, closed the connection, or is not etcd"
	case codes.Unauthenticated, codes.PermissionDenied:
		return "it demands other credentials"
	}
	return fmt.Sprintf("it is not etcd, or a version that usher does not know (gRPC code %s)", code)
}

// Reported returns what a member reports of itself in usher's words.
func Reported(reported []string) []string {
	var all []string
	for _, text := range reported {
		words := "it reports an error"
		for part, is := range map[string]string{
			"alarm:NOSPACE": "alarm NOSPACE: its database is full", "alarm:CORRUPT": "alarm CORRUPT: its database is corrupt",
			rpctypes.ErrNoLeader.Error(): "it knows no leader",
		} {
			if strings.Contains(text, part) {
				words = is
			}
		}
		if !slices.Contains(all, words) {
			all = append(all, words)
		}
	}
	return all
}
