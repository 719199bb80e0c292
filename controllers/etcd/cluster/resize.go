package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/etcd/plan"
)

// Resize implements plan.Executor.
func (e *steps) Resize(ctx context.Context, t plan.Step) error {
	p := e.pod(t)
	switch {
	case p == nil:
		return errWaits
	case e.s.ByName(t.Member).Pod.Resize.Done:
		return e.PatchPod(ctx, p, func(p *corev1.Pod) { e.d.Resized(p) })
	}
	if asked, err := e.ResizePod(ctx, e.d, p); err != nil || asked {
		return err
	}
	return errWaits // to be observed
}
