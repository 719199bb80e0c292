package cluster

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// steps executes the steps of a cluster's plan on what was observed. Repeating
// one after a crash has no further effect.
type steps struct {
	member.Writer
	options Options
	d       *member.Desired
	s       *observe.Observed
	// defragmentations limits those at the same time.
	defragmentations chan struct{}
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

// NameFirstMember implements plan.Executor. The write fails if the status changed
// since it was read.
func (e *steps) NameFirstMember(ctx context.Context, _ plan.Step) error {
	e.d.Cluster.Status.MemberStatuses = []etcdv1beta2.MemberStatus{{Name: member.NewName(e.d.Cluster.Name)}}
	return writeStatus(ctx, e.Client, e.d.Cluster)
}

// Bootstrap implements plan.Executor.
func (e *steps) Bootstrap(ctx context.Context, t plan.Step) error {
	return e.makeMember(ctx, t, member.First(e.d.Addresses, t.Member))
}

// Record implements plan.Executor.
func (e *steps) Record(ctx context.Context, _ plan.Step) error {
	e.s.RecordFormed(e.d, &e.d.Cluster.Status)
	return writeStatus(ctx, e.Client, e.d.Cluster)
}

// AddLearner implements plan.Executor. The URL contains the member's name, from
// which a later controller creates the pod.
func (e *steps) AddLearner(ctx context.Context, _ plan.Step) error {
	return ignoreDone(e.s.Etcd.AddLearner(ctx, e.d.Addresses.PeerURL(member.NewName(e.d.Cluster.Name))))
}

// CatchUp implements plan.Executor.
func (e *steps) CatchUp(ctx context.Context, t plan.Step) error {
	m := e.s.ByName(t.Member)
	if e.s.Pods[t.Member] != nil || m.Started || m.Claim.Ending {
		return errWaits
	}
	return e.makeMember(ctx, t, joining(e.d, e.s, t.Member))
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
	return ignoreDone(e.s.Etcd.Promote(ctx, e.s.Details[t.Member].ID))
}

// AddToService implements plan.Executor.
func (e *steps) AddToService(ctx context.Context, t plan.Step) error {
	return e.patchPod(ctx, t, func(p *corev1.Pod) { p.Labels[wellknown.LabelEtcdVoter] = "true" })
}

// Recover implements plan.Executor.
func (e *steps) Recover(ctx context.Context, t plan.Step) error {
	m := e.s.ByName(t.Member)
	if e.s.Pods[t.Member] != nil || !m.Started || !m.Durable || !m.Claim.Exists || m.Claim.Ending {
		return errWaits
	}
	return e.makePod(ctx, t, member.Pinned(e.d.Addresses, t.Member), member.Storage{Claim: true, Revision: m.StorageRevision})
}

// Upgrade implements plan.Executor.
func (e *steps) Upgrade(ctx context.Context, t plan.Step) error {
	if p := e.pod(t); p == nil || e.d.HasImage(p, t.Version.String()) {
		return errWaits
	}
	return e.patchPod(ctx, t, func(p *corev1.Pod) { e.d.SetImage(p, t.Version.String()) })
}

// Restart implements plan.Executor.
func (e *steps) Restart(ctx context.Context, t plan.Step) error { return e.deletePod(ctx, t, t.Member) }

// Stop implements plan.Executor.
func (e *steps) Stop(ctx context.Context, t plan.Step) error { return e.deletePod(ctx, t, t.Member) }

// MoveLeader implements plan.Executor.
func (e *steps) MoveLeader(ctx context.Context, t plan.Step) error {
	return ignoreDone(e.s.Etcd.MoveLeader(ctx, e.d.Addresses.ClientURL(e.s.LeaderName()), e.s.Details[t.Member].ID))
}

// Remove implements plan.Executor. If the removal was not requested, it asks the
// member once more, which may have recovered since the observation.
func (e *steps) Remove(ctx context.Context, t plan.Step) error {
	if !t.Cause.Asked() && e.s.Pods[t.Member] != nil {
		if _, err := e.s.Etcd.Status(ctx, e.d.Addresses.ClientURL(t.Member)); err == nil || observe.AsRefusal(err) != nil {
			return fmt.Errorf("%w: %s answers again", errNotYet, t.Member)
		}
	}
	return ignoreDone(e.s.Etcd.Remove(ctx, e.s.Details[t.Member].ID))
}

// DeletePod implements plan.Executor.
func (e *steps) DeletePod(ctx context.Context, t plan.Step) error {
	return e.deletePod(ctx, t, t.Member)
}

// RetainUntil implements plan.Executor.
func (e *steps) RetainUntil(ctx context.Context, t plan.Step) error {
	claim := e.s.Claims[t.Member]
	if claim == nil {
		return nil
	}
	why := t.Why
	for _, announced := range e.d.Cluster.Status.SetAside {
		if announced.Claim == t.Member && announced.Message != "" {
			why = announced.Message
		}
	}
	a := member.Aside{By: "EtcdCluster/" + e.d.Cluster.Name, Reason: t.Cause, Why: why}
	return e.Writer.RetainUntil(ctx, e.d.Cluster, claim, a, e.options.ClaimGrace, "changing the claim "+claim.Name)
}

// Unretain implements plan.Executor.
func (e *steps) Unretain(ctx context.Context, t plan.Step) error {
	return e.Writer.Unretain(ctx, e.d.Cluster, e.s.Aside[t.Member])
}

// DeleteClaim implements plan.Executor.
func (e *steps) DeleteClaim(ctx context.Context, t plan.Step) error {
	return e.Delete(ctx, e.s.Aside[t.Member], t.Member)
}

// pod returns the pod of the step's member: nil if there is none, or if it is
// being deleted.
func (e *steps) pod(t plan.Step) *corev1.Pod {
	if p := e.s.Pods[t.Member]; p != nil && p.DeletionTimestamp == nil {
		return p
	}
	return nil
}

func (e *steps) patchPod(ctx context.Context, t plan.Step, change func(*corev1.Pod)) error {
	p := e.pod(t)
	if p == nil {
		return errWaits
	}
	return e.PatchPod(ctx, p, change)
}

// deletePod deletes the pod of the step's member, which errors call what.
func (e *steps) deletePod(ctx context.Context, t plan.Step, what string) error {
	p := e.pod(t)
	if p == nil {
		return errWaits
	}
	return e.Delete(ctx, p, what)
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
		return fmt.Errorf("%w: %w", errNotYet, etcderrors.Explain(err))
	}
	return etcderrors.Explain(err)
}

// makeMember creates a new member's claim, if it has one, and its pod. It does
// not use an existing claim of the name that belongs to something else, or that
// is set aside.
func (e *steps) makeMember(ctx context.Context, t plan.Step, b member.InitialState) error {
	if e.d.Storage().Claim && e.s.Claims[t.Member] == nil {
		namespace, err := member.NamespaceUID(ctx, e.Reader, e.d.Cluster.Namespace)
		if err != nil {
			return err
		}
		err = e.Client.Create(ctx, e.d.Claim(t.Member, namespace))
		if apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%w: the claim %s exists", errNotYet, t.Member)
		}
		if err != nil {
			return fmt.Errorf("creating the claim of %s: %w", t.Member, err)
		}
	}
	return e.makePod(ctx, t, b, e.d.Storage())
}

// joining returns the initial state of a member that finds the others in the
// cluster.
func joining(d *member.Desired, s *observe.Observed, name string) member.InitialState {
	var others []string
	for _, m := range s.Members {
		if m.Listed && m.Name != name {
			others = append(others, m.Name+"="+s.Details[m.Name].PeerURL)
		}
	}
	return member.Joining(d.Addresses, name, others)
}

func (e *steps) makePod(ctx context.Context, t plan.Step, b member.InitialState, s member.Storage) error {
	m := e.s.ByName(t.Member)
	if m == nil {
		m = &plan.Member{Name: t.Member}
	}
	given := e.s.CertificatesFor(m)
	given.Client = e.d.TLS.ClientDuring(e.s.CertificateStep())
	if err := e.Stage(ctx, e.d, given, nil); err != nil {
		return err
	}
	p := e.d.With(given).Pod(t.Member, t.Version.String(), b, s)
	err := e.Client.Create(ctx, p)
	if apierrors.IsAlreadyExists(err) {
		err = e.Reader.Get(ctx, client.ObjectKeyFromObject(p), p)
		if err == nil && !metav1.IsControlledBy(p, e.d.Cluster) {
			err = fmt.Errorf("the pod %s %w", p.Name, member.ErrForeign)
		}
	}
	if err != nil {
		return fmt.Errorf("creating the pod of %s: %w", t.Member, err)
	}
	return nil
}
