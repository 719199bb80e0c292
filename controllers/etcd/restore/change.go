package restore

import (
	"context"
	"fmt"
	"strings"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/etcd/plan"
)

// change replaces the old members with the seed, as package plan decides: step
// by step, with an observation before each.
//
// The controller of clusters implements the steps, and this Reconcile calls it:
// the phases before this one promise that the cluster is unchanged, so that an
// EtcdRestore in them can be deleted. Were the steps taken by the cluster's
// Reconcile, one could be on its way while this one returns to such a phase.
func (c *Controller) change(ctx context.Context, a *attempt) error {
	for {
		s, err := c.switchover(ctx, a)
		if err != nil {
			return err
		}
		p := plan.Next(&a.cluster.Spec, s.Observation)
		t := p.Now()
		switch {
		case p.Blocked == plan.ClusterRunning:
			a.Status.Phase = etcdv1beta2.RestorePhaseProving
			return recovered(a)
		case t == nil:
			return wait(ReasonUnproved, "%s", p.Message)
		case t.Action == plan.Release:
			return nil // which growing does
		}
		if err := t.Do(ctx, s); err != nil {
			return err
		}
	}
}

// A switchover is one that explains in the EtcdRestore why it waits.
type switchover struct{ *etcdcluster.Switchover }

// Wait implements plan.Executor.
func (s switchover) Wait(context.Context, plan.Step) error {
	return wait(ReasonEnding, "waits for the old members %s to end; if the node of one is lost, delete its pod with --force --grace-period=0", strings.Join(s.Old, ", "))
}

// switchover observes the progress of the switchover.
func (c *Controller) switchover(ctx context.Context, a *attempt) (*switchover, error) {
	if err := c.take(ctx, a); err != nil {
		return nil, err
	}
	seed, err := c.proved(ctx, a)
	if err != nil {
		return nil, err
	}
	s, err := c.clusters.Switchover(ctx, a.cluster, a.Name, *seed, a.forced())
	if err != nil {
		return nil, err
	}
	a.Status.WayBack = wayBack(a.EtcdRestore, s.Kept)
	return &switchover{s}, nil
}

// wayBack explains how to recover the old cluster.
func wayBack(r *etcdv1beta2.EtcdRestore, kept []string) string {
	if len(kept) == 0 {
		return "none: the old members had no claims"
	}
	return fmt.Sprintf("the old members' data is on the claims %s, until the EtcdRestore %s is deleted, and for a while after it: mount the most recent one in a pod, "+
		"save /data/member/snap/db from it into the bucket after `etcdutl snapshot restore --skip-hash-check` has taken it and `etcdctl snapshot save` "+
		"has saved it again, and restore that", strings.Join(kept, ", "), r.Name)
}
