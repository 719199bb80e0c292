package etcdcluster

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// execute does a step. Whoever does it a second time, having been killed before
// that was known, does nothing more.
func (c *Controller) execute(ctx context.Context, d *desired, s *sight, t step) error {
	m := t.member
	switch t.do {
	case doNothing, doWait:
		return nil
	case doChoose:
		return c.choose(ctx, d.cluster)
	case doForm:
		return c.makeMember(ctx, d, m.name, t.version, first(d.addresses, m.name))
	case doRecord:
		return c.record(ctx, d.cluster, s)
	case doAdd:
		// Its name is in its URL: etcd's list tells it to whoever makes the pod.
		return again(s.etcd.AddLearner(ctx, d.addresses.peerURL(memberName(d.cluster.Name))))
	case doJoin:
		return c.makeMember(ctx, d, m.name, t.version, joining(d.addresses, m.name, s.members))
	case doRestore:
		return c.makePod(ctx, d, m.name, t.version, sealed(d.addresses, m.name), storage{claim: true, revision: s.claims[m.name].Annotations[AnnotationStorageRevision]})
	case doSeal:
		return c.patchPod(ctx, s.pods[m.name], func(p *corev1.Pod) {
			for key, value := range sealed(d.addresses, m.name).annotations() {
				p.Annotations[key] = value
			}
		})
	case doAdmit:
		return c.patchPod(ctx, s.pods[m.name], func(p *corev1.Pod) { p.Labels[LabelVoter] = "true" })
	case doPromote:
		return again(s.etcd.Promote(ctx, m.id))
	case doMoveLeader:
		return again(s.etcd.MoveLeader(ctx, d.addresses.clientURL(s.leader().name), m.id))
	case doRemove:
		return again(s.etcd.Remove(ctx, m.id))
	case doRestart:
		return c.delete(ctx, s.pods[m.name])
	case doDiscard:
		return c.discard(ctx, s, m)
	case doUpgrade:
		return c.patchPod(ctx, s.pods[m.name], func(p *corev1.Pod) {
			p.Annotations[AnnotationVersion] = t.version
			for i := range p.Spec.Containers {
				if p.Spec.Containers[i].Name == containerName {
					p.Spec.Containers[i].Image = d.image(t.version)
				}
			}
		})
	}
	return fmt.Errorf("no step is called %q", t.do)
}

// errNotYet tells that etcd puts a change off: the next look decides anew.
var errNotYet = errors.New("etcd puts it off")

// again tells what etcd puts off from what fails, and takes what was done
// already for done.
func again(err error) error {
	switch {
	case err == nil, errors.Is(err, rpctypes.ErrMemberNotFound), errors.Is(err, rpctypes.ErrMemberNotLearner):
		return nil
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady), errors.Is(err, rpctypes.ErrTooManyLearners),
		errors.Is(err, rpctypes.ErrUnhealthy), errors.Is(err, rpctypes.ErrMemberNotEnoughStarted),
		errors.Is(err, rpctypes.ErrNotLeader), errors.Is(err, rpctypes.ErrLeaderChanged), errors.Is(err, rpctypes.ErrNoLeader),
		errors.Is(err, rpctypes.ErrStopped), // by the member that was removed
		errors.Is(err, rpctypes.ErrTimeout), errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail):
		return fmt.Errorf("%w: %w", errNotYet, err)
	}
	return err
}

// makeMember makes a new member's claim, where it has one, and its pod.
func (c *Controller) makeMember(ctx context.Context, d *desired, name, version string, b birth) error {
	if d.storage().claim {
		if err := client.IgnoreAlreadyExists(c.client.Create(ctx, d.claimOf(name))); err != nil {
			return fmt.Errorf("making the claim of %s: %w", name, err)
		}
	}
	return c.makePod(ctx, d, name, version, b, d.storage())
}

func (c *Controller) makePod(ctx context.Context, d *desired, name, version string, b birth, s storage) error {
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, d.podOf(name, version, b, s))); err != nil {
		return fmt.Errorf("making the pod of %s: %w", name, err)
	}
	return nil
}

// patchPod changes a pod that is still the one that was seen.
func (c *Controller) patchPod(ctx context.Context, p *corev1.Pod, change func(*corev1.Pod)) error {
	changed := p.DeepCopy()
	change(changed)
	patch := client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	return nil
}

// discard deletes what a member left behind, its pod first: the claim goes once
// nobody uses it.
func (c *Controller) discard(ctx context.Context, s *sight, m member) error {
	if p := s.pods[m.name]; p != nil {
		if err := c.delete(ctx, p); err != nil {
			return err
		}
	}
	if claim := s.claims[m.name]; claim != nil {
		return c.delete(ctx, claim)
	}
	return nil
}

// delete deletes an object that is still the one that was seen.
func (c *Controller) delete(ctx context.Context, o client.Object) error {
	uid := o.GetUID()
	err := c.client.Delete(ctx, o, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", o.GetName(), err)
	}
	return nil
}
