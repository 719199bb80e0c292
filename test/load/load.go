// Package load offers work as fast as it is answered, or at a rate whatever the
// answers, and says how long each took.
package load

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Result is what became of a load.
type Result struct {
	// Took are the times of all, failed ones included, in ascending order.
	Took []time.Duration
	// Errors are those of what failed.
	Errors []error
	// Lasted is the time from the first begun to the last ended.
	Lasted time.Duration
}

// Percentile is the time that p of a hundred did not exceed; 0 where nothing
// was done.
func (r Result) Percentile(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(len(r.Took)-1, int(float64(len(r.Took))*p/100))]
}

// Rate is how many ended in a second.
func (r Result) Rate() float64 {
	if r.Lasted == 0 {
		return 0
	}
	return float64(len(r.Took)) / r.Lasted.Seconds()
}

// a recorder collects times from many goroutines.
type recorder struct {
	mu     sync.Mutex
	result Result
}

func (r *recorder) record(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Took = append(r.result.Took, took)
	if err != nil {
		r.result.Errors = append(r.result.Errors, err)
	}
}

func (r *recorder) done(began time.Time) Result {
	r.result.Lasted = time.Since(began)
	slices.Sort(r.result.Took)
	return r.result
}

// Closed keeps that many at work until the context ends: each begins the next
// when its last was answered. do gets the number of who calls it, and is not
// cut off.
func Closed(ctx context.Context, workers int, do func(worker int) error) Result {
	var r recorder
	var group sync.WaitGroup
	began := time.Now()
	for worker := range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				err := do(worker)
				r.record(time.Since(start), err)
			}
		})
	}
	group.Wait()
	return r.done(began)
}

// Open begins perSecond of them each second until the context ends, whether or
// not the earlier were answered, and waits for all. Each is timed from when it
// was due, so that a server that stalls is charged for what waited meanwhile.
// do gets the number of the call.
func Open(ctx context.Context, perSecond float64, do func(call int) error) Result {
	var r recorder
	var group sync.WaitGroup
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for call := 0; ; call++ {
		due := began.Add(time.Duration(float64(call) / perSecond * float64(time.Second)))
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			group.Wait()
			return r.done(began)
		case <-timer.C:
		}
		group.Go(func() {
			err := do(call)
			r.record(time.Since(due), err)
		})
	}
}
