package neutron

import (
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/usher-dev/usher/controllers/network/backend"
)

func TestAFailuresReason(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		want    backend.Reason
		message string
	}{
		"a quota": {
			refusal(409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['network'].", "detail": ""}}`),
			backend.QuotaExceeded, "making the network: the answer was 409 Conflict, OverQuota: Quota exceeded for resources: ['network'].",
		},
		"a network in use": {
			refusal(409, `{"NeutronError": {"type": "NetworkInUse", "message": "m"}}`), backend.InUse, "making the network: the answer was 409 Conflict, NetworkInUse: m",
		},
		"a subnet in use":       {refusal(409, `{"NeutronError": {"type": "SubnetInUse"}}`), backend.InUse, "making the network: the answer was 409 Conflict, SubnetInUse"},
		"a gateway in use":      {refusal(409, `{"NeutronError": {"type": "GatewayIpInUse"}}`), backend.InUse, ""},
		"another conflict":      {refusal(409, `{"NeutronError": {"type": "GatewayConflictWithAllocationPools"}}`), backend.Conflict, ""},
		"a conflict of nothing": {refusal(409, ``), backend.Conflict, "making the network: the answer was 409 Conflict"},
		"an old revision":       {refusal(412, `{"NeutronError": {"type": "RevisionNumberConstraintFailed"}}`), backend.Conflict, ""},
		"a network that went":   {refusal(404, `{"NeutronError": {"type": "NetworkNotFound"}}`), backend.Conflict, ""},
		"an unknown address":    {refusal(404, `<html>no such page</html>`), backend.Unavailable, "making the network: the answer was 404 Not Found"},
		"not signed in":         {refusal(401, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`), backend.Denied, "making the network: the answer was 401 Unauthorized, Unauthorized: The request you have made requires authentication."},
		"not allowed":           {refusal(403, `{"NeutronError": {"type": "PolicyNotAuthorized", "message": "m"}}`), backend.Denied, ""},
		"refused as written":    {refusal(400, `{"NeutronError": {"type": "InvalidInput", "message": "m"}}`), backend.Invalid, ""},
		"an error as a text":    {refusal(400, `{"NeutronError": "m"}`), backend.Invalid, "making the network: the answer was 400 Bad Request: m"},
		"a server's error":      {refusal(500, `{"NeutronError": {"type": "HTTPInternalServerError", "message": "m"}}`), backend.Unavailable, ""},
		"a proxy's error":       {refusal(502, `Bad Gateway`), backend.Unavailable, "making the network: the answer was 502 Bad Gateway"},
		"too many requests":     {refusal(429, ``), backend.Unavailable, ""},
		"a cut connection":      {&url.Error{Op: "Post", URL: "http://n/v2.0/networks", Err: io.EOF}, backend.Unavailable, `making the network: Post "http://n/v2.0/networks": EOF`},
		"signing in again failed": {
			&gophercloud.ErrUnableToReauthenticate{ErrOriginal: refusal(401, ""), ErrReauth: refusal(403, "")}, backend.Denied, "making the network: the answer was 403 Forbidden",
		},
		"Keystone gone when the token ended": {
			&gophercloud.ErrUnableToReauthenticate{ErrOriginal: refusal(401, ""), ErrReauth: io.EOF}, backend.Unavailable, "",
		},
		"an error after signing in again": {
			&gophercloud.ErrErrorAfterReauthentication{ErrOriginal: refusal(409, `{"NeutronError": {"type": "OverQuota"}}`)}, backend.QuotaExceeded, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := failure("making the network", test.err)
			if got := backend.ReasonOf(err); got != test.want {
				t.Errorf("the reason is %s, want %s", got, test.want)
			}
			if test.message != "" && err.Error() != test.message {
				t.Errorf("the message is\n%s\nwant\n%s", err, test.message)
			}
		})
	}
}

func TestAFailuresMessageIsBounded(t *testing.T) {
	err := failure("listing", refusal(400, `{"NeutronError": "`+strings.Repeat("ä", 10000)+`"}`))
	if n := len([]rune(err.Error())); n > 600 {
		t.Errorf("it has %d characters", n)
	}
}

func TestUnanswered(t *testing.T) {
	dial := &url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nobody listens":     {dial, false},
		"the connection cut": {&url.Error{Op: "Post", Err: io.EOF}, true},
		"Neutron refused":    {refusal(409, `{"NeutronError": {"type": "OverQuota"}}`), false},
		"Neutron failed":     {refusal(500, `{"NeutronError": {"type": "HTTPInternalServerError"}}`), false},
		"a proxy gave up":    {refusal(504, ``), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unanswered(test.err); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func refusal(status int, body string) gophercloud.ErrUnexpectedResponseCode {
	return gophercloud.ErrUnexpectedResponseCode{Actual: status, Body: []byte(body), Method: "POST", URL: "http://n/v2.0/networks"}
}
