package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/controllers/etcd/plan"
	"github.com/usher-dev/usher/policies/etcd"
)

// execute executes a step, and reports whether it did more than wait. Repeating
// it after a crash has no further effect.
func (c *Controller) execute(ctx context.Context, d *desired, s *observed, t *plan.Step) (done bool, err error) {
	switch t.Action {
	case plan.Wait, plan.Settle:
		return false, nil
	case plan.Recover, plan.CatchUp, plan.Upgrade, plan.Restart, plan.PinInitialState, plan.AddToService, plan.DeletePod:
		return c.onPod(ctx, d, s, t)
	case plan.NameFirstMember:
		return true, c.choose(ctx, d.cluster)
	case plan.Bootstrap:
		return true, c.makeMember(ctx, d, s, t.Member, t.Version, first(d.addresses, t.Member))
	case plan.Record:
		return true, c.record(ctx, d.cluster, s)
	case plan.AddLearner:
		// The URL contains its name, from which a later controller creates the pod.
		return true, ignoreDone(s.etcd.AddLearner(ctx, d.addresses.peerURL(memberName(d.cluster.Name))))
	case plan.Promote:
		return true, ignoreDone(s.etcd.Promote(ctx, s.details[t.Member].id))
	case plan.MoveLeader:
		return true, ignoreDone(s.etcd.MoveLeader(ctx, d.addresses.clientURL(s.leader()), s.details[t.Member].id))
	case plan.Remove:
		return true, c.remove(ctx, d, s, t)
	case plan.RetainUntil:
		return true, c.setAside(ctx, d, s, t)
	case plan.Unretain:
		return true, c.reattach(ctx, d, s, t.Member)
	case plan.DeleteClaim:
		return true, c.delete(ctx, s.aside[t.Member])
	case plan.Adopt:
		return true, c.adopt(ctx, d.cluster, s)
	}
	return false, fmt.Errorf("step %q does not exist", t.Action)
}

// onPod executes a step that creates, changes or deletes a member's pod.
func (c *Controller) onPod(ctx context.Context, d *desired, s *observed, t *plan.Step) (done bool, err error) {
	p, m := s.pods[t.Member], s.byName(t.Member)
	if p == nil {
		switch {
		case t.Action == plan.Recover && m.Started && m.Durable && m.Claim.Exists && !m.Claim.Ending:
			return true, c.makePod(ctx, d, t.Member, t.Version, sealed(d.addresses, t.Member), storage{claim: true, revision: m.StorageRevision})
		case t.Action == plan.CatchUp && !m.Started && !m.Claim.Ending:
			return true, c.makeMember(ctx, d, s, t.Member, t.Version, s.joining(d.addresses, t.Member))
		}
		return false, nil
	}
	if p.DeletionTimestamp != nil {
		return false, nil
	}
	switch t.Action {
	case plan.PinInitialState:
		return true, c.patchPod(ctx, p, func(p *corev1.Pod) {
			for key, value := range sealed(d.addresses, t.Member).annotations() {
				p.Annotations[key] = value
			}
		})
	case plan.AddToService:
		return true, c.patchPod(ctx, p, func(p *corev1.Pod) { p.Labels[LabelVoter] = "true" })
	case plan.Restart, plan.DeletePod:
		return true, c.delete(ctx, p)
	case plan.Upgrade:
		if m.Target == t.Version {
			return false, nil
		}
		return true, c.patchPod(ctx, p, func(p *corev1.Pod) {
			p.Annotations[AnnotationVersion] = t.Version.String()
			for i := range p.Spec.Containers {
				if p.Spec.Containers[i].Name == containerName {
					p.Spec.Containers[i].Image = d.image(t.Version.String())
				}
			}
		})
	}
	return false, nil // it is running, and the step waits for it
}

// remove removes a member from etcd's list. If that was not requested, it
// probes the member once more, which may have recovered since the observation.
func (c *Controller) remove(ctx context.Context, d *desired, s *observed, t *plan.Step) error {
	if !t.Cause.Asked() && s.pods[t.Member] != nil {
		if _, err := s.etcd.Status(ctx, d.addresses.clientURL(t.Member)); err == nil || asRefusal(err) != nil {
			return fmt.Errorf("%w: %s answers again", errNotYet, t.Member)
		}
	}
	return ignoreDone(s.etcd.Remove(ctx, s.details[t.Member].id))
}

// errNotYet means that etcd postpones a change: the next observation decides
// again.
var errNotYet = errors.New("etcd puts it off")

// ignoreDone treats completed calls as success, and distinguishes postponed ones
// from failures.
func ignoreDone(err error) error {
	switch {
	case err == nil, errors.Is(err, rpctypes.ErrMemberNotFound), errors.Is(err, rpctypes.ErrMemberNotLearner):
		return nil
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady), errors.Is(err, rpctypes.ErrTooManyLearners),
		errors.Is(err, rpctypes.ErrUnhealthy), errors.Is(err, rpctypes.ErrMemberNotEnoughStarted),
		errors.Is(err, rpctypes.ErrNotLeader), errors.Is(err, rpctypes.ErrLeaderChanged), errors.Is(err, rpctypes.ErrNoLeader),
		errors.Is(err, rpctypes.ErrStopped), // by the removed member
		errors.Is(err, rpctypes.ErrTimeout), errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail):
		return fmt.Errorf("%w: %w", errNotYet, err)
	}
	return err
}

// makeMember creates a new member's claim, if it has one, and its pod. It does
// not use an existing claim of the name that belongs to something else, or that
// is set aside.
func (c *Controller) makeMember(ctx context.Context, d *desired, s *observed, name string, version etcd.Version, b birth) error {
	if d.storage().claim && s.claims[name] == nil {
		namespace, err := c.namespaceUID(ctx, d.cluster.Namespace)
		if err != nil {
			return err
		}
		err = c.client.Create(ctx, d.claimOf(name, namespace))
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%w: the claim %s exists", errNotYet, name)
		}
		if err != nil {
			return fmt.Errorf("creating the claim of %s: %w", name, err)
		}
	}
	return c.makePod(ctx, d, name, version, b, d.storage())
}

func (c *Controller) makePod(ctx context.Context, d *desired, name string, version etcd.Version, b birth, s storage) error {
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, d.podOf(name, version.String(), b, s))); err != nil {
		return fmt.Errorf("creating the pod of %s: %w", name, err)
	}
	return nil
}

// patchPod changes a pod, unless it was replaced since the observation: its
// status changes all the time, its UID never.
func (c *Controller) patchPod(ctx context.Context, p *corev1.Pod, change func(*corev1.Pod)) error {
	changed := p.DeepCopy()
	change(changed)
	patch, err := client.MergeFrom(p).Data(changed)
	if err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	var body map[string]any
	if err := json.Unmarshal(patch, &body); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	meta, _ := body["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		body["metadata"] = meta
	}
	meta["uid"] = string(p.UID)
	if patch, err = json.Marshal(body); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	if err := c.client.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("changing the pod %s: %w", p.Name, err)
	}
	return nil
}

// delete deletes an object, unless it was replaced since the observation. A
// pod's status changes all the time; a claim must be completely unchanged.
func (c *Controller) delete(ctx context.Context, o client.Object) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	only := client.Preconditions{UID: &uid}
	if _, ok := o.(*corev1.PersistentVolumeClaim); ok {
		only.ResourceVersion = &version
	}
	err := c.client.Delete(ctx, o, only)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", o.GetName(), err)
	}
	return nil
}
