package network

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// audit lists networks with the backend's mark but without a Network, which
// remain if somebody removes finalizers by hand, and removes them if requested.
// It logs a failure and continues.
func (c *Controller) audit(ctx context.Context) error {
	orphans, err := c.orphans(ctx)
	if err != nil {
		c.log.Error(err, "cannot list orphaned networks")
		return nil
	}
	left := 0
	for _, orphan := range orphans {
		log := c.log.WithValues("namespace", orphan.Namespace, "name", orphan.Name, "uid", orphan.UID, "resources", orphan.Resources)
		if !c.options.RemoveOrphans {
			left++
			log.Info("a network is orphaned: remove it, or run with --network-remove-orphans")
			continue
		}
		if err := c.options.Backend.Delete(ctx, orphan.Owner); err != nil {
			left++
			log.Error(err, "cannot remove an orphaned network")
			continue
		}
		log.Info("removed an orphaned network")
	}
	c.metrics.orphans.Set(float64(left))
	return nil
}

// orphans returns the networks that the backend created for deleted Networks.
// It reads from the API server, not from the cache, before it reports one.
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
