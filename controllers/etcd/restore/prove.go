package restore

import (
	"context"

	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// prove verifies the data of the seed, and that the old members still have no
// quorum.
func (c *Controller) prove(ctx context.Context, a *attempt) error {
	// A switchover that another release left over was withdrawn in this phase.
	if err := c.ask(ctx, a.cluster, member.Switchover{}); err != nil {
		return err
	}
	if err := c.seed(ctx, a); err != nil {
		return err
	}
	if _, err := c.proved(ctx, a); err != nil {
		return err
	}
	return c.replaceable(ctx, a) // volumes can come back
}

// proved returns the seed, which must be the only member and have at least the
// revision of the backup, and of the bump.
func (c *Controller) proved(ctx context.Context, a *attempt) (*observe.Restored, error) {
	p, err := c.pod(ctx, a)
	if err != nil {
		return nil, err
	}
	if p == nil || !observe.Ready(p) {
		return nil, wait(ReasonStarting, "waits for the restored member %s to be ready", member.SeedName(a.EtcdRestore))
	}
	seed, err := c.observer.Restored(ctx, a.cluster, p)
	if refusesCredentials(err) {
		return nil, wait(ReasonCredentials, "%w", err)
	}
	if err != nil {
		return nil, wait(ReasonUnproved, "%w", err)
	}
	if why := seed.Unproved(a.Status.EtcdRevision + a.Spec.BumpRevision); why != "" {
		return nil, stop(ReasonUnproved, "%s", why)
	}
	return seed, nil
}
