package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fill creates objects 0 to n-1, several at once, and keeps existing ones.
func (b *bench) fill(ctx context.Context, n int, create func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			if err := create(ctx, i); err != nil && !isThere(err) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

func isThere(err error) bool { return apierrors.IsAlreadyExists(err) }
