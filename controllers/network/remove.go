package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// remove removes the network with the backend, waits for its users, and removes
// the finalizer.
func (c *Controller) remove(ctx context.Context, n *samplecrdv1.Network) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(n, wellknown.FinalizerNetwork) {
		return reconcile.Result{}, nil // finalizers of others block it
	}
	if n.Spec.DeletionPolicy == samplecrdv1.Orphan {
		return c.orphan(ctx, n)
	}
	if err := c.sameBackend(n); err != nil {
		return c.report(ctx, n, outcome{err: withWayOut(err)})
	}
	if err := c.options.Backend.Delete(ctx, ownerOf(n)); err != nil {
		return c.report(ctx, n, outcome{users: backend.UsersOf(err), err: withWayOut(err)})
	}
	if err := c.release(ctx, n); err != nil {
		return requeue(err)
	}
	if len(n.Status.Resources) > 0 {
		c.events.Eventf(n, nil, corev1.EventTypeNormal, ReasonDeleted, "Delete", "removed the network %s", n.Status.CIDR)
	}
	return reconcile.Result{}, nil
}

// orphan removes only the finalizer. A backend that is gone for good would
// otherwise keep the Network and its namespace forever. A namespace that is
// being deleted accepts no Event, so the log has it, too.
func (c *Controller) orphan(ctx context.Context, n *samplecrdv1.Network) (reconcile.Result, error) {
	if err := c.release(ctx, n); err != nil {
		return requeue(err)
	}
	c.log.Info("a deleted Network leaves its network in the backend, as its deletionPolicy asks", "namespace", n.Namespace, "name", n.Name, "uid", n.UID,
		"backend", n.Status.Backend, "cidr", n.Status.CIDR, "resources", n.Status.Resources)
	c.events.Eventf(n, nil, corev1.EventTypeWarning, ReasonOrphaned, "Delete", "left the network %s in the backend %s, as the deletionPolicy asks", n.Status.CIDR, n.Status.Backend)
	return reconcile.Result{}, nil
}

// release removes the finalizer of a Network.
func (c *Controller) release(ctx context.Context, n *samplecrdv1.Network) error {
	before := n.DeepCopy()
	controllerutil.RemoveFinalizer(n, wellknown.FinalizerNetwork)
	if err := c.client.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	c.metrics.forget(client.ObjectKeyFromObject(n))
	return nil
}

// withWayOut adds to the error of a deletion how to do without the backend. It
// adds nothing if the deletion continues by itself.
func withWayOut(err error) error {
	reason := backend.ReasonOf(err)
	if reason == backend.Conflict || reason == backend.InUse {
		return err
	}
	return &backend.Error{
		Reason: reason, Users: backend.UsersOf(err), After: backend.AfterOf(err),
		Err: fmt.Errorf("%w; to delete the Network and leave its network in the backend, set spec.deletionPolicy to %s", err, samplecrdv1.Orphan),
	}
}
