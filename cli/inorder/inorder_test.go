package inorder

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

func TestDo_HandsOverInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var got []int
		err := Do(t.Context(), n, func(i int) int {
			for range (i * 7919) % 1000 { // some take longer
				_ = slices.Repeat([]int{i}, 10)
			}
			return i
		}, func(i int) error { got = append(got, i); return nil })
		if err != nil || len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%d items: %v, %d results, in order %t", n, err, len(got), slices.IsSorted(got))
		}
	}
}

// A result that does not come holds the others back, and not all of them are made.
func TestDo_IsBounded(t *testing.T) {
	const n = 1_000_000
	first := make(chan struct{})
	var made atomic.Int64
	ended := errors.New("ended")
	err := Do(t.Context(), n, func(i int) int {
		if i == 0 {
			<-first
		}
		if made.Add(1); i == 2*ahead/2 {
			close(first)
		}
		return i
	}, func(int) error { return ended })
	if !errors.Is(err, ended) || made.Load() > 10_000 {
		t.Errorf("%v after %d results", err, made.Load())
	}
}

func TestDo_EndsWithTheContext(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	emitted := 0
	err := Do(ctx, 1000, func(i int) int {
		if i == 10 {
			cancel(why)
		}
		return i
	}, func(int) error { emitted++; return nil })
	if !errors.Is(err, why) || emitted == 1000 {
		t.Errorf("%v after %d results", err, emitted)
	}
}
