package review

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// errBusy is answered with 429: the API server retries.
var errBusy = errors.New("too many requests at once")

const (
	// freeBytes is how much of a body is read before memory is reserved for it.
	// Reviews of most pods are smaller, and never wait for large ones.
	freeBytes = 16 << 10
	// maxLarge limits the total memory of larger bodies.
	maxLarge = 32 << 20
	// maxWait is how long a request waits for its turn: a burst ends sooner than
	// the API server would retry.
	maxWait = 250 * time.Millisecond
)

// defaultConcurrent allows for decisions that wait for the API server.
func defaultConcurrent() int { return max(128, 64*runtime.GOMAXPROCS(0)) }

// A limit limits the concurrent decisions, and the memory of large bodies.
// Reading a body does not count as a decision, so a slow sender does not block
// others.
type limit struct {
	deciding, large *semaphore.Weighted
}

// newLimit allows n concurrent decisions, or a default number if n is 0.
func newLimit(n int) *limit {
	if n <= 0 {
		n = defaultConcurrent()
	}
	return &limit{deciding: semaphore.NewWeighted(int64(n)), large: semaphore.NewWeighted(maxLarge)}
}

// enter waits for its turn; the caller must call leave afterwards.
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

// A reservation is the reserved memory of a request's body.
type reservation struct {
	limit *limit
	size  int64
}

func (r *reservation) reserve(size int64) error {
	if !r.limit.large.TryAcquire(size) {
		return errBusy
	}
	r.size += size
	return nil
}

func (r *reservation) release() { r.limit.large.Release(r.size) }

// throttle answers a request that usher cannot decide now. Without Retry-After
// the API server would not retry.
func (e *endpoint) throttle(w http.ResponseWriter, r *http.Request) {
	e.metrics.throttled.WithLabelValues(e.handler.Path).Inc()
	if r.ContentLength > freeBytes {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "usher cannot decide now: "+errBusy.Error()+"; retry", http.StatusTooManyRequests)
}
