package review

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// errBusy is answered with 429: the API server asks again.
var errBusy = errors.New("too many requests at once")

const (
	// eager is what is read of a body before anything is reserved for it.
	// Reviews of most pods are smaller, and never wait for large ones.
	eager = 16 << 10
	// maxLarge bounds the memory of the bodies that are larger.
	maxLarge = 64 << 20
	// maxWait is the time a request waits for its turn: a burst passes sooner
	// than the API server would ask again.
	maxWait = 250 * time.Millisecond
)

// defaultConcurrent leaves room for decisions that wait for the API server.
func defaultConcurrent() int { return max(128, 64*runtime.GOMAXPROCS(0)) }

// A limit bounds the decisions that are made at once, and the memory of large
// bodies. Bodies are read outside of the first: who sends slowly holds up
// nobody.
type limit struct {
	deciding, large *semaphore.Weighted
}

// newLimit allows n decisions at once, a number of its own where n is 0.
func newLimit(n int) *limit {
	if n <= 0 {
		n = defaultConcurrent()
	}
	return &limit{deciding: semaphore.NewWeighted(int64(n)), large: semaphore.NewWeighted(maxLarge)}
}

// enter waits for its turn; who entered leaves.
func (l *limit) enter(ctx context.Context) error {
	if l.deciding.TryAcquire(1) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if l.deciding.Acquire(ctx, 1) != nil {
		return errBusy
	}
	return nil
}

func (l *limit) leave() { l.deciding.Release(1) }

// A hold is the memory that a request's body has reserved.
type hold struct {
	limit *limit
	size  int64
}

func (h *hold) reserve(size int64) error {
	if !h.limit.large.TryAcquire(size) {
		return errBusy
	}
	h.size += size
	return nil
}

func (h *hold) release() { h.limit.large.Release(h.size) }

// throttle answers what cannot be decided now. Without Retry-After the API
// server would not ask again.
func (e *endpoint) throttle(w http.ResponseWriter, r *http.Request) {
	e.metrics.throttled.WithLabelValues(e.handler.Path).Inc()
	if r.ContentLength > eager {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "usher cannot decide now: "+errBusy.Error()+"; ask again", http.StatusTooManyRequests)
}
