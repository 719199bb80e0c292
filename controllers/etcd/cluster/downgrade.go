package cluster

import (
	"context"

	"github.com/usher-dev/usher/etcd/plan"
)

// EnableDowngrade implements plan.Executor.
func (e *steps) EnableDowngrade(ctx context.Context, t plan.Step) error {
	return ignoreDone(e.s.Etcd.EnableDowngrade(ctx, t.Version))
}

// CancelDowngrade implements plan.Executor.
func (e *steps) CancelDowngrade(ctx context.Context, _ plan.Step) error {
	return ignoreDone(e.s.Etcd.CancelDowngrade(ctx))
}
