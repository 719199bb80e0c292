// Package inorder works on items on all processors, and hands over the results in the
// order of the items.
package inorder

import (
	"context"
	"runtime"
	"sync"
)

// ahead is how many results per processor wait for an earlier one.
const ahead = 16

// Do calls work for 0 to n-1 on all processors, and then emit with each result, in
// order and one at a time. It holds a bounded number of results. It ends with the
// first error of emit, or with the cause of the context's end.
func Do[T any](ctx context.Context, n int, work func(i int) T, emit func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	type job struct {
		i      int
		result chan T
	}
	processors := min(n, runtime.GOMAXPROCS(0))
	jobs, results := make(chan job), make(chan chan T, processors*ahead)
	for range processors {
		workers.Go(func() {
			for j := range jobs {
				j.result <- work(j.i)
			}
		})
	}
	workers.Go(func() {
		defer close(results)
		defer close(jobs)
		for i := range n {
			j := job{i, make(chan T, 1)}
			select {
			case results <- j.result:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for range n {
		var result T
		select {
		case next, ok := <-results:
			if !ok {
				return context.Cause(ctx)
			}
			select {
			case result = <-next:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := emit(result); err != nil {
			return err
		}
	}
	return nil
}
