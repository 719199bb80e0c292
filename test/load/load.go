// Package load generates load as fast as it is answered, or at a fixed rate,
// and measures the durations.
package load

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Result is the result of a load.
type Result struct {
	// Took are all durations, including failures, in ascending order.
	Took []time.Duration
	// Errors are the errors of failures.
	Errors []error
	// Lasted is the time from the first start to the last end.
	Lasted time.Duration
}

// Percentile returns the time that p of a hundred did not exceed; 0 without
// any.
func (r Result) Percentile(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(len(r.Took)-1, int(float64(len(r.Took))*p/100))]
}

// Rate returns how many ended per second.
func (r Result) Rate() float64 {
	if r.Lasted == 0 {
		return 0
	}
	return float64(len(r.Took)) / r.Lasted.Seconds()
}

// a recorder collects durations from many goroutines.
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

// Closed keeps that many calls in progress until the context ends: each worker
// starts the next call after the last. do gets the number of the worker, and is
// not cancelled.
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

// Open starts perSecond calls each second until the context ends, whether or
// not earlier ones ended, and waits for all. It measures each from its due
// time, so that a stalled server is charged for the wait. do gets the number of
// the call.
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
