package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// mostDefragmentations is how many members of all clusters may be defragmented at
// the same time: each occupies one of the reconcilers, and others must be left.
const mostDefragmentations = 4

// Reasons of the condition SpaceStalled, in addition to the plan's.
const (
	// ReasonStepFailed: etcd did not take a step.
	ReasonStepFailed = "StepFailed"
	// ReasonTimeout: a defragmentation took longer than it may.
	ReasonTimeout = "Timeout"
	// ReasonNeedsRoot: usher's client is not a user with the role root.
	ReasonNeedsRoot = "NeedsRoot"
	// ReasonInvalidSchedule: the schedule cannot be parsed.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonDeferred: members run with former flags until they are restarted.
	ReasonDeferred = "Deferred"
)

// Compact implements plan.Executor.
func (e *steps) Compact(ctx context.Context, t plan.Step) error {
	if t.Revision > 0 {
		if err := e.s.Etcd.Compact(ctx, t.Revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return e.failed(ctx, t, err)
		}
	}
	return e.record(ctx, func(s *etcdv1beta2.ClusterStatus) {
		if s.Space.NoSpace != nil {
			s.Space.NoSpace.CompactedRevision, s.Space.NoSpace.Compacted = t.Revision, compactedAt(now(), s.MemberStatuses)
		}
	})
}

// compactedAt returns when the history was dropped, as the status has times: in whole
// seconds. A member that was defragmented in the same second before must not count as
// defragmented since.
func compactedAt(at *metav1.Time, members []etcdv1beta2.MemberStatus) *metav1.Time {
	if slices.ContainsFunc(members, func(m etcdv1beta2.MemberStatus) bool {
		return m.LastDefragmentation != nil && m.LastDefragmentation.Equal(at)
	}) {
		return ptr.To(metav1.NewTime(at.Add(time.Second)))
	}
	return at
}

// Defragment implements plan.Executor. The status says already which member it is,
// so that another controller, which this one may not survive, waits for it.
func (e *steps) Defragment(ctx context.Context, t plan.Step) error {
	select {
	case e.defragmentations <- struct{}{}:
		defer func() { <-e.defragmentations }()
	default:
		return errWaits
	}
	timeout := etcd.DefragmentationTimeout(&e.d.Cluster.Spec)
	began := time.Now()
	if err := e.s.Etcd.Defragment(ctx, e.d.Addresses.ClientURL(t.Member), timeout); err != nil {
		return e.failed(ctx, t, err)
	}
	log.FromContext(ctx).Info("defragmented", "member", t.Member, "duration", time.Since(began))
	return e.record(ctx, func(s *etcdv1beta2.ClusterStatus) {
		s.Space.Defragmenting = nil
		for i := range s.MemberStatuses {
			if s.MemberStatuses[i].Name == t.Member {
				s.MemberStatuses[i].LastDefragmentation = now()
			}
		}
	})
}

// Disarm implements plan.Executor.
func (e *steps) Disarm(ctx context.Context, t plan.Step) error {
	if err := e.s.Etcd.DisarmNoSpace(ctx); err != nil {
		return e.failed(ctx, t, err)
	}
	return nil
}

// RaiseQuota implements plan.Executor.
func (e *steps) RaiseQuota(ctx context.Context, t plan.Step) error {
	return e.record(ctx, func(s *etcdv1beta2.ClusterStatus) {
		s.Space.RaisedQuota = &etcdv1beta2.RaisedQuota{
			From: *resource.NewQuantity(etcd.Quota(&e.s.Cluster.Spec), resource.BinarySI), To: *resource.NewQuantity(t.Bytes, resource.BinarySI),
		}
	})
}

func now() *metav1.Time { return ptr.To(metav1.Now().Rfc3339Copy()) }

// failed records why a step failed, and lets the controller go on with others: it
// tries again after a while.
func (e *steps) failed(ctx context.Context, t plan.Step, err error) error {
	if later := ignoreDone(err); errors.Is(later, errNotYet) && t.Action != plan.Defragment {
		return later
	}
	failure := &etcdv1beta2.SpaceFailure{Reason: ReasonStepFailed, Message: fmt.Sprintf("%s: %s", t, etcderrors.Explain(err)), Time: *now()}
	r := observe.AsRefusal(observe.Classify(err, false))
	switch {
	case r != nil && r.Credentials:
		failure.Reason, failure.Message = ReasonNeedsRoot, fmt.Sprintf("%s: %s: it needs a user with the role root", t, r.Why)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && t.Action == plan.Defragment:
		failure.Reason = ReasonTimeout
		failure.Message = fmt.Sprintf("%s: it took longer than %s: write a longer spec.space.defragmentation.timeoutSeconds", t, etcd.DefragmentationTimeout(&e.d.Cluster.Spec))
	}
	log.FromContext(ctx).Info("a step for space failed", "action", t.Action, "member", t.Member, "because", failure.Message)
	if err := e.record(ctx, func(s *etcdv1beta2.ClusterStatus) { s.Space.Failure = failure }); err != nil {
		return err
	}
	return errWaits
}

// record changes the status after a step: also if somebody changed the object
// while the step took its time.
func (e *steps) record(ctx context.Context, change func(*etcdv1beta2.ClusterStatus)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		c := &etcdv1beta2.EtcdCluster{}
		if err := e.Reader.Get(ctx, client.ObjectKeyFromObject(e.s.Cluster), c); err != nil {
			return err
		}
		if c.Status.Space == nil {
			c.Status.Space = &etcdv1beta2.SpaceStatus{}
		}
		change(&c.Status)
		return writeStatus(ctx, e.Client, c)
	})
}

// writeDefaults writes the space of a cluster that was just created into its spec,
// and reports whether it did. Whatever exists of a cluster of the name shows that
// it is older: the defaults of a release change no running member.
func (c *Controller) writeDefaults(ctx context.Context, o *observe.Objects) (bool, error) {
	st := &o.Cluster.Status
	if st.ObservedGeneration != 0 || st.ClusterID != "" || len(st.MemberStatuses) > 0 || len(o.Pods)+len(o.Claims)+len(o.Orphans) > 0 ||
		len(o.Former) > 0 && plan.Adoption(o.Cluster.Annotations[wellknown.AnnotationEtcdRetained]) != plan.IgnoreClaims {
		return false, nil
	}
	was := o.Cluster.DeepCopy()
	o.Cluster.Spec.Space = etcd.DefaultSpace(&was.Spec)
	if equality.Semantic.DeepEqual(was.Spec.Space, o.Cluster.Spec.Space) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, o.Cluster, patch); err != nil {
		return false, fmt.Errorf("writing spec.space of a new cluster: %w", err)
	}
	return true, nil
}

// judgeSpace sets the conditions about the space of databases.
func judgeSpace(j *judgement, s *observe.Observed, p plan.Plan) {
	member := ""
	if d := j.cluster.Status.Space.Defragmenting; d != nil {
		member = d.Member
	}
	j.when(etcdv1beta2.ClusterDefragmenting, member != "", ReasonUnderWay, member+" is being defragmented, and answers nothing meanwhile")
	stall := p.SpaceStalled
	switch {
	case stall != nil:
	case s.BadSchedule != "":
		stall = &plan.Stall{Reason: ReasonInvalidSchedule, Message: s.BadSchedule}
	case s.Space.Taken:
		stall = deferred(j.cluster, s)
	}
	if stall == nil {
		j.when(etcdv1beta2.ClusterSpaceStalled, false, "", "")
		return
	}
	j.set(etcdv1beta2.ClusterSpaceStalled, "True", stall.Reason, stall.Message)
}

// deferred names the members that do not run with the flags of spec.space.
func deferred(c *etcdv1beta2.EtcdCluster, s *observe.Observed) *plan.Stall {
	wanted := etcd.SpaceRevision(etcd.Raised(&c.Spec, s.Before))
	for i := range s.Members {
		p := s.Pods[s.Members[i].Name]
		if p != nil && p.Annotations[wellknown.AnnotationEtcdSpaceRevision] != wanted {
			return &plan.Stall{Reason: ReasonDeferred, Message: p.Name + " runs without the quota, compaction or timeout of spec.space: an upgrade of usher restarts no member; it gets them when its pod is recreated, or when you change them"}
		}
	}
	return nil
}
