package network

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
)

// claim puts the finalizer on the Network. From then on it is there until what
// was made for it is gone, whether usher sees its deletion or not.
func (c *Controller) claim(ctx context.Context, n *samplecrdv1.Network) error {
	before := n.DeepCopy()
	if !controllerutil.AddFinalizer(n, samplecrdv1.Finalizer) {
		return nil
	}
	// The list of finalizers is replaced whole, so nobody else's may be new.
	if err := c.client.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("putting the finalizer on: %w", err)
	}
	return nil
}
