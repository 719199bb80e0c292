package load_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/usher-dev/usher/test/load"
)

func TestAClosedLoopKeepsNoMoreAtWorkThanItWasTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var at, most, calls atomic.Int32
	failed := errors.New("refused")
	result := load.Closed(ctx, 3, func(int) error {
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer at.Add(-1)
		if calls.Add(1) == 100 {
			cancel()
			return failed
		}
		return nil
	})
	if most.Load() > 3 || len(result.Took) < 100 || len(result.Errors) != 1 {
		t.Errorf("%d at work, %d times, errors %v", most.Load(), len(result.Took), result.Errors)
	}
}

func TestAnOpenLoopGoesOnWhileAnswersAreOutstandingAndTimesFromWhenEachWasDue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stalled := make(chan struct{})
	result := load.Open(ctx, 1000, func(call int) error {
		switch {
		case call == 50:
			cancel()
			close(stalled)
		case call < 50:
			<-stalled // no answer before all were started
		}
		return nil
	})
	if n := len(result.Took); n < 51 {
		t.Fatalf("%d calls ended", n)
	}
	if longest := result.Percentile(100); longest < 50*time.Millisecond {
		t.Errorf("the first waited %v for the fiftieth, which was due 50 ms later", longest)
	}
}

func TestPercentilesOfNothingAreZero(t *testing.T) {
	if got := (load.Result{}).Percentile(99); got != 0 {
		t.Errorf("got %v", got)
	}
}
