package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// Reasons of the condition Stalled after errors.
const (
	// ReasonFailed: the controller meets the same error again and again.
	ReasonFailed = "ReconcileFailed"
	// ReasonNameTaken: an object of another owner has a name that the cluster needs.
	ReasonNameTaken = "NameTaken"
	// ReasonPutOff: etcd has not accepted a change for the member timeout.
	ReasonPutOff = "PutOff"
)

// putOff is an error of a step that etcd postpones: the next observation decides
// again.
type putOff struct {
	step plan.Step
	err  error
}

func (p *putOff) Error() string { return p.step.String() + ": " + p.err.Error() }

func (p *putOff) Unwrap() error { return p.err }

// ways are what a person does about a step that etcd puts off.
var ways = map[plan.Action]string{
	plan.Promote:    "the learner has not caught up with the leader: check its disk and the network between the members; if you remove it with etcdctl member remove, usher adds another",
	plan.AddLearner: "check that the members reach each other, and that etcdctl member list has no learner",
}

// A failure is what keeps the controller from reconciling a cluster.
type failure struct {
	// since is when it began, by the controller's clock.
	since time.Time
	// reason and message are what the condition says, from the time said.
	reason, message string
	said            time.Time
	step            *plan.Step
}

// failures are the failures of clusters. The zero value is ready to use.
type failures struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*failure
}

// note records the result of a reconciliation. A message stays for a while: one
// that differs each time would make the controller write without end.
func (f *failures) note(cluster types.NamespacedName, err error, now time.Time, keep time.Duration) (is, was *failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was = f.clusters[cluster]
	if err == nil {
		delete(f.clusters, cluster)
		return nil, was
	}
	is = &failure{since: now, said: now, reason: ReasonFailed, message: strings.ReplaceAll(err.Error(), "\n", "; ")}
	var put *putOff
	switch {
	case errors.As(err, &put):
		is.reason, is.step = ReasonPutOff, &put.step
		if way := ways[put.step.Action]; way != "" {
			is.message += "; " + way
		}
	case errors.Is(err, member.ErrForeign):
		is.reason = ReasonNameTaken
	}
	if was != nil && was.same(is) {
		is.since = was.since
		if now.Sub(was.said) < keep {
			is.reason, is.message, is.said = was.reason, was.message, was.said
		}
	}
	if f.clusters == nil {
		f.clusters = map[types.NamespacedName]*failure{}
	}
	f.clusters[cluster] = is
	return is, was
}

// same reports whether both are errors, or one step that etcd puts off.
func (f *failure) same(other *failure) bool {
	if f.step == nil || other.step == nil {
		return f.step == other.step
	}
	return f.step.Action == other.step.Action && f.step.Member == other.step.Member
}

// of returns the failure of a cluster, or nil.
func (f *failures) of(cluster types.NamespacedName) *failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusters[cluster]
}

// stall returns what the condition Stalled says of a failure: nil before it has
// lasted for a few retries or, if etcd puts a step off, for the member timeout.
func (o *Options) stall(f *failure, now time.Time) *plan.Stall {
	if f == nil {
		return nil
	}
	patience := 5 * o.Busy
	if f.step != nil {
		patience = o.Settling
	}
	if now.Sub(f.since) < patience {
		return nil
	}
	return &plan.Stall{Reason: f.reason, Message: f.message}
}

// conclude records the result of a reconciliation, and writes the condition of an
// error that keeps the controller from the rest of the status.
func (c *Controller) conclude(ctx context.Context, cluster types.NamespacedName, observed bool, result reconcile.Result, err error) (reconcile.Result, error) {
	if ctx.Err() != nil || apierrors.IsConflict(err) {
		return result, err
	}
	is, was := c.failures.note(cluster, err, time.Now(), c.options.Calm)
	var put *putOff
	switch {
	case err == nil && c.options.stall(was, time.Now()) != nil: // the condition is out of date
		c.resting.set(cluster, nil)
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	case err == nil:
		return result, nil
	case errors.As(err, &put):
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	}
	return result, errors.Join(err, c.reportFailure(ctx, cluster, observed, c.options.stall(is, time.Now())))
}

// reportFailure sets the condition Stalled. An error with which the controller
// cannot observe the cluster leaves unknown whether it is available.
func (c *Controller) reportFailure(ctx context.Context, key types.NamespacedName, observed bool, stall *plan.Stall) error {
	if stall == nil {
		return nil
	}
	cluster := &etcdv1beta2.EtcdCluster{}
	if err := c.observer.Reader.Get(ctx, key, cluster); err != nil {
		return client.IgnoreNotFound(err)
	}
	j := &judgement{cluster: cluster, now: metav1.Now().Rfc3339Copy()}
	was := cluster.Status.DeepCopy()
	j.set(etcdv1beta2.ClusterStalled, corev1.ConditionTrue, stall.Reason, stall.Message)
	if !observed {
		j.set(etcdv1beta2.ClusterAvailable, corev1.ConditionUnknown, stall.Reason, stall.Message)
	}
	if equality.Semantic.DeepEqual(was, &cluster.Status) {
		return nil
	}
	c.metrics.observe(cluster)
	c.tell(j)
	if err := writeStatus(ctx, c.client, cluster); !apierrors.IsConflict(err) {
		return client.IgnoreNotFound(err)
	}
	return nil // it is tried again
}
