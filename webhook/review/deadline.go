package review

import (
	"context"
	"sync"
	"time"
)

// A deadline is a context that ends at its time, or with its parent. Unlike
// that of context.WithDeadline, it has a timer only once somebody waits for its
// end, which most decisions never do.
type deadline struct {
	context.Context // the parent
	at              time.Time

	mu     sync.Mutex
	timed  context.Context // with the timer; nil if no caller waits
	cancel context.CancelFunc
}

// within returns a context that ends after d. The caller stops it.
func within(parent context.Context, d time.Duration) *deadline {
	return &deadline{Context: parent, at: time.Now().Add(d)}
}

func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

func (d *deadline) Done() <-chan struct{} { return d.wait().Done() }

func (d *deadline) Err() error {
	d.mu.Lock()
	passed := d.timed != nil || d.Context.Err() != nil || !time.Now().Before(d.at)
	d.mu.Unlock()
	if !passed {
		return nil
	}
	return d.wait().Err()
}

// wait returns the context with the timer.
func (d *deadline) wait() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.Context, d.at)
	}
	return d.timed
}

// stop releases the timer.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}
