package review

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding/reason"
)

// maxBody is the maximum size of a body. The API server accepts requests of 3
// MiB (its MaxRequestBodyBytes), an UPDATE's review contains two objects, and
// the rest of a review, user and options, gets 1 MiB.
const maxBody = 7 << 20

// maxDrain is how much of a larger body is read in order to answer it.
const maxDrain = 64 << 20

// Timeout is how long the API server waits for a response: the registration's
// timeoutSeconds. It is at most 5 seconds, because several webhooks in a row
// must not reach the request's own deadline.
const Timeout = 5 * time.Second

// readTimeout is how long a body may take to arrive.
const readTimeout = Timeout

// A badRequest is a request without a review that usher can read.
type badRequest struct {
	status  int
	message string
	uid     string // of the review, if it was found
}

func (b *badRequest) Error() string { return b.message }

func malformed(format string, args ...any) *badRequest {
	return &badRequest{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// response denies a review that is too large.
func (b *badRequest) response() *Response {
	return &Response{Reason: string(reason.TooLarge), Code: http.StatusRequestEntityTooLarge, Message: string(reason.TooLarge) + ": " + b.message}
}

// read reads the body into a buffer, within the limits, and reserves memory for
// a large one.
func read(w http.ResponseWriter, r *http.Request, body *bytes.Buffer, memory *reservation) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &badRequest{status: http.StatusMethodNotAllowed, message: "POST an AdmissionReview"}
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return &badRequest{status: http.StatusUnsupportedMediaType, message: "Content-Type must be application/json"}
	}
	// Not every ResponseWriter has deadlines; the server's does.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	// usher trusts the Content-Length once a part of the body has arrived.
	if n := r.ContentLength; n > 0 {
		body.Grow(int(min(n, freeBytes)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(io.LimitReader(r.Body, freeBytes))
	if err == nil && body.Len() == freeBytes && r.ContentLength != freeBytes {
		size := int64(maxBody)
		if n := r.ContentLength; n > 0 && n < maxBody {
			size = n
		}
		if err := memory.reserve(size); err != nil {
			return err
		}
		if r.ContentLength > 0 {
			body.Grow(int(size) - freeBytes + bytes.MinRead)
		}
		_, err = body.ReadFrom(io.LimitReader(r.Body, maxBody+1-freeBytes))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &badRequest{status: http.StatusRequestTimeout, message: fmt.Sprintf("the body did not arrive within %s", readTimeout)}
	case err != nil:
		return malformed("reading the body: %v", err)
	case body.Len() == 0:
		return malformed("the body is empty; POST an AdmissionReview")
	case body.Len() > maxBody:
		// Read on, so that the sender has finished sending when the response arrives.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		w.Header().Set("Connection", "close")
		return &badRequest{
			status:  http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("the review exceeds the %d MiB that usher reads", maxBody>>20),
			uid:     findUID(body.Bytes()),
		}
	}
	return nil
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// findUID searches for request.uid in the beginning of a review, where the API
// server writes it.
func findUID(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		if dec.StackPointer() != "/request/uid" {
			continue
		}
		if _, length := dec.StackIndex(dec.StackDepth()); length%2 == 0 && token.Kind() == '"' {
			return token.String()
		}
	}
}

func stack() string { return string(debug.Stack()) }
