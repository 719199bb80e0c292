package network

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
)

// addFinalizer adds the finalizer to the Network. From then on the Network exists
// until its objects are removed, whether or not usher observes its deletion.
func (c *Controller) addFinalizer(ctx context.Context, n *samplecrdv1.Network) error {
	before := n.DeepCopy()
	if !controllerutil.AddFinalizer(n, wellknown.FinalizerNetwork) {
		return nil
	}
	// The patch replaces the whole list of finalizers, so it fails if another
	// client added one.
	if err := c.client.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	return nil
}
