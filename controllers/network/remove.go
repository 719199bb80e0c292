package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// remove removes the network with the backend, waits for its users, and removes
// the finalizer.
func (c *Controller) remove(ctx context.Context, n *samplecrdv1.Network) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(n, samplecrdv1.Finalizer) {
		return reconcile.Result{}, nil // finalizers of others block it
	}
	if made := n.Status.Backend; made != "" && made != c.options.Backend.Name() {
		_, wrong := c.gate(n)
		return c.report(ctx, n, outcome{err: wrong})
	}
	if err := c.options.Backend.Delete(ctx, ownerOf(n)); err != nil {
		return c.report(ctx, n, outcome{users: backend.UsersOf(err), err: err})
	}
	before := n.DeepCopy()
	controllerutil.RemoveFinalizer(n, samplecrdv1.Finalizer)
	if err := c.client.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return again(fmt.Errorf("removing the finalizer: %w", err))
	}
	c.metrics.forget(client.ObjectKeyFromObject(n))
	if len(before.Status.Resources) > 0 {
		c.events.Eventf(before, nil, corev1.EventTypeNormal, ReasonDeleted, "Delete", "removed the network %s", before.Status.CIDR)
	}
	return reconcile.Result{}, nil
}
