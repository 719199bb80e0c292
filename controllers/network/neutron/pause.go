package neutron

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// longestPause limits how long usher sends nothing because an answer says so.
const longestPause = 10 * time.Minute

// A pause is the time in which Neutron, Keystone or a proxy of them wants no
// requests, by the header Retry-After. It counts for all Networks: otherwise
// each would send the next request too early.
type pause struct {
	mu    sync.Mutex
	until time.Time
}

// check returns an error during the pause, with the rest of it.
func (p *pause) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until)
	if left <= 0 {
		return nil
	}
	return &pausedError{&backend.Error{
		Reason: backend.Unavailable, After: left, Err: fmt.Errorf("an answer asked usher to send no requests for another %s", max(left.Round(time.Second), time.Second)),
	}}
}

// note begins or extends the pause if a response asks for it.
func (p *pause) note(res *http.Response) {
	wait := retryAfter(res.StatusCode, res.Header, time.Now())
	if wait == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(wait); until.After(p.until) {
		p.until = until
	}
}

// A pausedError is the error of a request that was not sent.
type pausedError struct{ err *backend.Error }

// Error implements error.
func (e *pausedError) Error() string { return e.err.Error() }

// Unwrap returns the error with its reason.
func (e *pausedError) Unwrap() error { return e.err }

// retryAfter returns how long a response asks to wait, in seconds or until a
// date, and at most longestPause; zero if it does not ask.
func retryAfter(status int, header http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := header.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), longestPause)
}
