package neutron

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// failed converts a request's error. A connection that Keystone stopped accepting is
// not reused.
func (b *Backend) failed(c *connection, doing string, err error) error {
	f := failure(doing, err)
	if c != nil && backend.ReasonOf(f) == backend.Denied {
		b.session.forget(c)
	}
	return f
}

// failure returns the error of a request, with its reason.
func failure(doing string, err error) error {
	answer, answered := answerOf(err)
	if !answered {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return backend.Errorf(reasonOf(answer.status, answer.kind), "%s: %s", doing, answer)
}

// reasonOf distinguishes responses by Neutron's type, and otherwise by their
// status: a conflict can be a quota, a use or an edit.
func reasonOf(status int, kind string) backend.Reason {
	switch kind {
	case "OverQuota":
		return backend.QuotaExceeded
	case "NetworkInUse", "SubnetInUse", "GatewayIpInUse", "IpAddressInUse":
		return backend.InUse
	case "RevisionNumberConstraintFailed", "NetworkNotFound", "SubnetNotFound":
		// The object was deleted, or changed since it was read.
		return backend.Conflict
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return backend.Denied
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return backend.Invalid
	case http.StatusConflict, http.StatusPreconditionFailed:
		return backend.Conflict
	}
	return backend.Unavailable
}

// An answer is the error response of Neutron or Keystone.
type answer struct {
	status        int
	kind, message string
}

// String formats the response for people, with a limited length.
func (a answer) String() string {
	text := fmt.Sprintf("the answer was %d %s", a.status, http.StatusText(a.status))
	if a.kind != "" {
		text += ", " + a.kind
	}
	if a.message == "" {
		return text
	}
	return text + ": " + shortened(a.message)
}

func shortened(text string) string {
	const most = 500
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// answerOf returns the response in an error, if there is one.
func answerOf(err error) (answer, bool) {
	// The response to a second authentication attempt is the relevant one.
	if again, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		err = again.ErrReauth
	}
	code, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
	if !ok {
		return answer{}, false
	}
	a := answer{status: code.Actual}
	a.kind, a.message = said(code.Body)
	return a, true
}

// said parses a body: Neutron's, whose error is an object or a text, or
// Keystone's. It ignores others, such as a proxy's page.
func said(body []byte) (kind, message string) {
	var document struct {
		NeutronError json.RawMessage
		Error        struct{ Title, Message string } `json:"error"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return "", ""
	}
	var named struct{ Type, Message string }
	if err := json.Unmarshal(document.NeutronError, &named); err == nil {
		return named.Type, named.Message
	}
	if err := json.Unmarshal(document.NeutronError, &message); err == nil {
		return "", message
	}
	return document.Error.Title, document.Error.Message
}

// unanswered reports whether a request without a response may have been
// executed.
func unanswered(err error) bool {
	if a, answered := answerOf(err); answered {
		// A proxy answers in place of the lost server, with another body.
		return a.status >= http.StatusInternalServerError && a.kind == ""
	}
	refused, ok := errors.AsType[*net.OpError](err)
	return !ok || refused.Op != "dial"
}
