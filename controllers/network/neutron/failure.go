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

// failed says what a request's error means for what was being done. A
// connection that is no longer accepted is not used again.
func (b *Backend) failed(c *connection, doing string, err error) error {
	f := failure(doing, err)
	if c != nil && backend.ReasonOf(f) == backend.Denied {
		b.session.forget(c)
	}
	return f
}

// failure is the error of a request, with its reason.
func failure(doing string, err error) error {
	answer, answered := answerOf(err)
	if !answered {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return backend.Errorf(reasonOf(answer.status, answer.kind), "%s: %s", doing, answer)
}

// reasonOf tells answers apart by what Neutron calls them, and by their status
// where it says nothing: a conflict can be a quota, a use or an edit.
func reasonOf(status int, kind string) backend.Reason {
	switch kind {
	case "OverQuota":
		return backend.QuotaExceeded
	case "NetworkInUse", "SubnetInUse", "GatewayIpInUse", "IpAddressInUse":
		return backend.InUse
	case "RevisionNumberConstraintFailed", "NetworkNotFound", "SubnetNotFound":
		// What the request was about is gone, or not as it was read.
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

// An answer is what Neutron or Keystone said when it refused.
type answer struct {
	status        int
	kind, message string
}

// String is the answer for people, bounded.
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

// answerOf is the answer in an error, where there was one.
func answerOf(err error) (answer, bool) {
	// What a second attempt to sign in said is what counts.
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

// said reads a body: Neutron's, whose error is an object or a text, or
// Keystone's. Others, such as a proxy's page, say nothing.
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

// unanswered says whether a request may have been carried out though nobody
// said so.
func unanswered(err error) bool {
	if a, answered := answerOf(err); answered {
		// A proxy answers in place of the server that it lost, in other words.
		return a.status >= http.StatusInternalServerError && a.kind == ""
	}
	refused, ok := errors.AsType[*net.OpError](err)
	return !ok || refused.Op != "dial"
}
