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

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// steps executes the steps of a cluster's plan on what was observed. Repeating
// one after a crash has no further effect.
type steps struct {
	c *Controller
	d *member.Desired
	s *observed
}

var _ plan.Executor = (*steps)(nil)

// errWaits means that there is nothing to do but to wait.
var errWaits = errors.New("it waits")

// Wait implements plan.Executor.
func (e *steps) Wait(context.Context, plan.Step) error { return errWaits }

// Settle implements plan.Executor.
func (e *steps) Settle(context.Context, plan.Step) error { return errWaits }

// Reserve implements plan.Executor: the controller of restores does it.
func (e *steps) Reserve(context.Context, plan.Step) error { return errWaits }

// Release implements plan.Executor: the controller of restores does it.
func (e *steps) Release(context.Context, plan.Step) error { return errWaits }

// NameFirstMember implements plan.Executor.
func (e *steps) NameFirstMember(ctx context.Context, _ plan.Step) error {
	return e.c.choose(ctx, e.d.Cluster)
}

// Bootstrap implements plan.Executor.
func (e *steps) Bootstrap(ctx context.Context, t plan.Step) error {
	return e.c.makeMember(ctx, e.d, e.s, t.Member, t.Version, member.First(e.d.Addresses, t.Member))
}

// Record implements plan.Executor.
func (e *steps) Record(ctx context.Context, _ plan.Step) error {
	return e.c.record(ctx, e.d.Cluster, e.s)
}

// AddLearner implements plan.Executor. The URL contains the member's name, from
// which a later controller creates the pod.
func (e *steps) AddLearner(ctx context.Context, _ plan.Step) error {
	return ignoreDone(e.s.etcd.AddLearner(ctx, e.d.Addresses.PeerURL(member.NewName(e.d.Cluster.Name))))
}

// CatchUp implements plan.Executor.
func (e *steps) CatchUp(ctx context.Context, t plan.Step) error {
	m := e.s.byName(t.Member)
	if e.s.pods[t.Member] != nil || m.Started || m.Claim.Ending {
		return errWaits
	}
	return e.c.makeMember(ctx, e.d, e.s, t.Member, t.Version, joining(e.d, e.s, t.Member))
}

// PinInitialState implements plan.Executor.
func (e *steps) PinInitialState(ctx context.Context, t plan.Step) error {
	return e.patchPod(ctx, t, func(p *corev1.Pod) {
		for key, value := range member.Pinned(e.d.Addresses, t.Member).Annotations() {
			p.Annotations[key] = value
		}
	})
}

// Promote implements plan.Executor.
func (e *steps) Promote(ctx context.Context, t plan.Step) error {
	return ignoreDone(e.s.etcd.Promote(ctx, e.s.details[t.Member].id))
}

// AddToService implements plan.Executor.
func (e *steps) AddToService(ctx context.Context, t plan.Step) error {
	return e.patchPod(ctx, t, func(p *corev1.Pod) { p.Labels[wellknown.LabelEtcdVoter] = "true" })
}

// Recover implements plan.Executor.
func (e *steps) Recover(ctx context.Context, t plan.Step) error {
	m := e.s.byName(t.Member)
	if e.s.pods[t.Member] != nil || !m.Started || !m.Durable || !m.Claim.Exists || m.Claim.Ending {
		return errWaits
	}
	return e.c.makePod(ctx, e.d, t.Member, t.Version, member.Pinned(e.d.Addresses, t.Member), member.Storage{Claim: true, Revision: m.StorageRevision})
}

// Upgrade implements plan.Executor.
func (e *steps) Upgrade(ctx context.Context, t plan.Step) error {
	if e.s.byName(t.Member).Target == t.Version {
		return errWaits
	}
	return e.patchPod(ctx, t, func(p *corev1.Pod) {
		p.Annotations[wellknown.AnnotationEtcdVersion] = t.Version.String()
		for i := range p.Spec.Containers {
			if p.Spec.Containers[i].Name == member.ContainerName {
				p.Spec.Containers[i].Image = e.d.Image(t.Version.String())
			}
		}
	})
}

// Restart implements plan.Executor.
func (e *steps) Restart(ctx context.Context, t plan.Step) error { return e.deletePod(ctx, t, t.Member) }

// MoveLeader implements plan.Executor.
func (e *steps) MoveLeader(ctx context.Context, t plan.Step) error {
	return ignoreDone(e.s.etcd.MoveLeader(ctx, e.d.Addresses.ClientURL(e.s.leader()), e.s.details[t.Member].id))
}

// Remove implements plan.Executor. If the removal was not requested, it asks the
// member once more, which may have recovered since the observation.
func (e *steps) Remove(ctx context.Context, t plan.Step) error {
	if !t.Cause.Asked() && e.s.pods[t.Member] != nil {
		if _, err := e.s.etcd.Status(ctx, e.d.Addresses.ClientURL(t.Member)); err == nil || asRefusal(err) != nil {
			return fmt.Errorf("%w: %s answers again", errNotYet, t.Member)
		}
	}
	return ignoreDone(e.s.etcd.Remove(ctx, e.s.details[t.Member].id))
}

// DeletePod implements plan.Executor.
func (e *steps) DeletePod(ctx context.Context, t plan.Step) error {
	return e.deletePod(ctx, t, t.Member)
}

// RetainUntil implements plan.Executor.
func (e *steps) RetainUntil(ctx context.Context, t plan.Step) error {
	return e.c.setAside(ctx, e.d, e.s, t)
}

// Unretain implements plan.Executor.
func (e *steps) Unretain(ctx context.Context, t plan.Step) error {
	return e.c.reattach(ctx, e.d, e.s, t.Member)
}

// DeleteClaim implements plan.Executor.
func (e *steps) DeleteClaim(ctx context.Context, t plan.Step) error {
	return e.c.delete(ctx, e.s.aside[t.Member])
}

// Adopt implements plan.Executor.
func (e *steps) Adopt(ctx context.Context, _ plan.Step) error {
	return e.c.adopt(ctx, e.d.Cluster, e.s)
}

// pod returns the pod of the step's member: nil if there is none, or if it is
// being deleted.
func (e *steps) pod(t plan.Step) *corev1.Pod {
	if p := e.s.pods[t.Member]; p != nil && p.DeletionTimestamp == nil {
		return p
	}
	return nil
}

func (e *steps) patchPod(ctx context.Context, t plan.Step, change func(*corev1.Pod)) error {
	p := e.pod(t)
	if p == nil {
		return errWaits
	}
	return e.c.patchPod(ctx, p, change)
}

// deletePod deletes the pod of the step's member, which errors call what.
func (e *steps) deletePod(ctx context.Context, t plan.Step, what string) error {
	p := e.pod(t)
	if p == nil {
		return errWaits
	}
	return e.c.deleteAs(ctx, p, what)
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
func (c *Controller) makeMember(ctx context.Context, d *member.Desired, s *observed, name string, version etcd.Version, b member.InitialState) error {
	if d.Storage().Claim && s.claims[name] == nil {
		namespace, err := c.namespaceUID(ctx, d.Cluster.Namespace)
		if err != nil {
			return err
		}
		err = c.client.Create(ctx, d.Claim(name, namespace))
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%w: the claim %s exists", errNotYet, name)
		}
		if err != nil {
			return fmt.Errorf("creating the claim of %s: %w", name, err)
		}
	}
	return c.makePod(ctx, d, name, version, b, d.Storage())
}

// joining returns the initial state of a member that finds the others in the
// cluster.
func joining(d *member.Desired, s *observed, name string) member.InitialState {
	var others []string
	for _, m := range s.Members {
		if m.Listed && m.Name != name {
			others = append(others, m.Name+"="+s.details[m.Name].peerURL)
		}
	}
	return member.Joining(d.Addresses, name, others)
}

func (c *Controller) makePod(ctx context.Context, d *member.Desired, name string, version etcd.Version, b member.InitialState, s member.Storage) error {
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, d.Pod(name, version.String(), b, s))); err != nil {
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
	return c.deleteAs(ctx, o, o.GetName())
}

// deleteAs deletes an object, which errors call what.
func (c *Controller) deleteAs(ctx context.Context, o client.Object, what string) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	only := client.Preconditions{UID: &uid}
	if _, ok := o.(*corev1.PersistentVolumeClaim); ok {
		only.ResourceVersion = &version
	}
	err := c.client.Delete(ctx, o, only)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", what, err)
	}
	return nil
}
