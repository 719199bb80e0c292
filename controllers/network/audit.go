package network

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// audit lists what carries the backend's mark and has no Network, which is what
// somebody who took finalizers off by hand leaves behind, and removes it where
// that was asked for. A failure is told and stops nothing.
func (c *Controller) audit(ctx context.Context) error {
	orphans, err := c.orphans(ctx)
	if err != nil {
		c.log.Error(err, "orphaned networks are not known")
		return nil
	}
	left := 0
	for _, orphan := range orphans {
		log := c.log.WithValues("namespace", orphan.Namespace, "name", orphan.Name, "uid", orphan.UID, "resources", orphan.Resources)
		if !c.options.RemoveOrphans {
			left++
			log.Info("a network has no Network: remove it, or run with --network-remove-orphans")
			continue
		}
		if err := c.options.Backend.Delete(ctx, orphan.Owner); err != nil {
			left++
			log.Error(err, "an orphaned network is not removed")
			continue
		}
		log.Info("an orphaned network is removed")
	}
	c.metrics.orphans.Set(float64(left))
	return nil
}

// orphans are what the backend made for Networks that are no more. It asks the
// API server, not the cache, before it calls one so.
func (c *Controller) orphans(ctx context.Context) ([]backend.Made, error) {
	all, err := c.options.Backend.List(ctx)
	if err != nil {
		return nil, err
	}
	var orphans []backend.Made
	for _, made := range all {
		err := c.live.Get(ctx, client.ObjectKey{Namespace: made.Namespace, Name: made.Name}, &samplecrdv1.Network{})
		switch {
		case apierrors.IsNotFound(err):
			orphans = append(orphans, made)
		case err != nil:
			return nil, fmt.Errorf("reading the Network %s: %w", made.Owner, err)
		}
	}
	return orphans, nil
}
