// Package cluster runs etcd clusters whose members are pods.
//
// etcd's own list names the members; pods and claims are what they run on.
// Reconcile observes both, lets package plan decide one step, takes it, and
// observes again. It keeps no state in between that a decision depends on, so the
// controller may be killed before and after any call. It never removes a member
// or data that the others need to keep their quorum.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// DefaultSettling is how long a member may be down before it is replaced.
const DefaultSettling = 5 * time.Minute

// Options configures a Controller. The zero value is for production.
type Options struct {
	// Settling is how long a member may be down before it is replaced, if the
	// others have a quorum, and how long the quorum must be lost before an
	// automatic restore. The default is DefaultSettling.
	Settling time.Duration
	// Busy is the maximum time between a step and the next observation, Calm the
	// time after an observation without a step. The defaults are a second and half
	// a minute.
	Busy, Calm time.Duration
	// Reread is how long a cluster may be at rest before its objects are read
	// again. The default is a quarter of an hour.
	Reread time.Duration
	// ClaimGrace is how long to keep claims of removed members before deleting
	// them. The default is member.DefaultClaimGrace.
	ClaimGrace time.Duration
	// Namespace is the only namespace to watch, if the cache of the manager has no
	// other; "" means all.
	Namespace string
}

func (o *Options) complete() {
	for value, otherwise := range map[*time.Duration]time.Duration{&o.Settling: DefaultSettling, &o.ClaimGrace: member.DefaultClaimGrace, &o.Busy: time.Second, &o.Calm: 30 * time.Second, &o.Reread: rereadAfter} {
		if *value == 0 {
			*value = otherwise
		}
	}
}

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{
		corev1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme, metav1.AddMetaToScheme, etcdv1beta2.AddToScheme, certmanagerv1.AddToScheme,
	}).AddToScheme(s)
}

// A Controller reconciles clusters with their manifests.
type Controller struct {
	observer       *observe.Observer
	client         client.Client
	events         events.EventRecorder
	options        Options
	metrics        *metrics
	unavailability unavailability
	watched        owned
	resting        resting
	// denied is why members refused the last change, by cluster: etcd lets a
	// client that may change nothing read the list of members.
	denied sync.Map
	// failures are what keeps the controller from reconciling clusters.
	failures failures
	// defragmentations limits those at the same time.
	defragmentations chan struct{}
}

// NewObserver returns the observer of clusters, which the controllers of clusters
// and of restores share.
func NewObserver(m manager.Manager, o Options) *observe.Observer {
	o.complete()
	return observe.New(m.GetAPIReader(), plan.Limits{MemberTimeout: o.Settling})
}

// New returns the controller for that manager's cluster.
func New(m manager.Manager, observer *observe.Observer, o Options) *Controller {
	o.complete()
	return &Controller{
		observer: observer, client: m.GetClient(), events: m.GetEventRecorder("usher-etcdcluster"), options: o, metrics: newMetrics(),
		defragmentations: make(chan struct{}, mostDefragmentations),
	}
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	b := ctrl.NewControllerManagedBy(m).
		Named("etcdcluster").
		For(&etcdv1beta2.EtcdCluster{}).
		// An observation waits for members that do not answer.
		WithOptions(controller.Options{MaxConcurrentReconciles: 8, RateLimiter: fairqueue.Retries()})
	var err error
	if c.watched, err = watchOwned(m, c.options.Namespace); err != nil {
		return err
	}
	for _, s := range append(c.watched.sources(m), c.watched.asideSource()) {
		b.WatchesRawSource(s)
	}
	return b.Complete(c)
}

// Reconcile observes a cluster and takes the next step.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	observed, result, err := c.reconcile(ctx, req)
	return c.conclude(ctx, req.NamespacedName, observed, result, err)
}

// reconcile also reports whether the status says what was observed.
func (c *Controller) reconcile(ctx context.Context, req reconcile.Request) (observed bool, result reconcile.Result, err error) {
	if c.stillRests(ctx, req.NamespacedName) {
		return true, reconcile.Result{RequeueAfter: c.options.Calm}, nil
	}
	watched, err := c.watched.versions(ctx, req.NamespacedName)
	if err != nil {
		return false, reconcile.Result{}, err
	}
	cluster := &etcdv1beta2.EtcdCluster{}
	if err := c.observer.Reader.Get(ctx, req.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(req.NamespacedName)
			result, err = c.expire(ctx, req.NamespacedName)
		}
		return false, result, err
	}
	if cluster.DeletionTimestamp != nil {
		return false, reconcile.Result{}, c.release(ctx, cluster)
	}
	if err := c.syncFinalizer(ctx, cluster); err != nil {
		return false, reconcile.Result{}, err
	}
	if restore := cluster.Annotations[wellknown.AnnotationEtcdRestore]; restore != "" {
		result, err := c.reserved(ctx, cluster, restore)
		return false, result, err
	}
	read, version := time.Now(), cluster.ResourceVersion
	objects, err := c.observer.List(ctx, cluster)
	if err != nil {
		return false, reconcile.Result{}, err
	}
	if written, err := c.writeDefaults(ctx, objects); written || err != nil {
		return false, reconcile.Result{}, err // the change of the spec triggers the controller
	}
	d := member.Desire(objects.Effective())
	// What it cannot write does not keep it from looking, but from the next step.
	unwritten := errors.Join(c.prepare(ctx, d), c.adoptPods(ctx, objects))
	if err := missing(d, d.ReadSecrets(ctx, c.observer.Reader, objects.Pods)); err != nil {
		return false, reconcile.Result{}, err
	}
	s, err := c.observer.Observe(ctx, d, objects)
	if err != nil {
		return false, reconcile.Result{}, err
	}
	defer s.Close()
	unwritten = errors.Join(unwritten, c.keepClaims(ctx, d, s))
	s.RecordMembers(d, &cluster.Status)
	unwritten = errors.Join(unwritten, c.recordCertificates(ctx, d, s, &cluster.Status))
	p := plan.Next(etcd.Raised(&cluster.Spec, s.Before), &s.Observation)
	unwritten = errors.Join(unwritten, c.writer().DisruptionBudget(ctx, d, s.Voters()))
	if why, ok := c.denied.Load(req.NamespacedName); ok && p.Now() != nil && s.Credentials == "" {
		s.Credentials = why.(string)
	}
	if err := c.report(ctx, cluster, d, s, p); err != nil {
		return false, reconcile.Result{}, err
	}
	unwritten = errors.Join(unwritten, c.keepCertificates(ctx, d))
	if unwritten != nil {
		return true, reconcile.Result{}, unwritten
	}
	if mayRestore(cluster, &s.Observation, p, c.options.Settling) {
		if err := c.autoRestore(ctx, cluster); err != nil {
			return true, reconcile.Result{}, err
		}
	}
	if watched != nil && mayRest(d, s, p) && cluster.ResourceVersion == version {
		c.resting.set(req.NamespacedName, newRest(d, objects, p, watched, read))
	}
	result, err = c.take(ctx, d, s, p.Now())
	return true, result, err
}

func (c *Controller) writer() member.Writer {
	return member.Writer{Client: c.client, Reader: c.observer.Reader}
}

// prepare creates what members need before they exist. It records what is
// missing but created by others.
func (c *Controller) prepare(ctx context.Context, d *member.Desired) error {
	return errors.Join(c.writer().Services(ctx, d), missing(d, c.writer().Certificates(ctx, d)))
}

// missing records what is missing but created by others, and returns any other
// error.
func missing(d *member.Desired, err error) error {
	if m := (member.MissingError{}); errors.As(err, &m) {
		d.Missing = m.What
		return nil
	}
	return err
}

// take takes a step and returns when to observe again.
func (c *Controller) take(ctx context.Context, d *member.Desired, s *observe.Observed, t *plan.Step) (reconcile.Result, error) {
	if t == nil {
		return reconcile.Result{RequeueAfter: c.options.Calm}, nil
	}
	err := t.Do(ctx, &steps{c.writer(), c.options, d, s, c.defragmentations})
	if errors.Is(err, errWaits) {
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	}
	if r := observe.AsRefusal(observe.Classify(err, false)); r != nil && r.Credentials {
		c.denied.Store(client.ObjectKeyFromObject(d.Cluster), r.Why)
	} else {
		c.denied.Delete(client.ObjectKeyFromObject(d.Cluster))
	}
	switch {
	case apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("put off", "action", t.Action, "member", t.Member, "because", err.Error())
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	case errors.Is(err, errNotYet):
		log.FromContext(ctx).V(1).Info("put off", "action", t.Action, "member", t.Member, "because", err.Error())
		return reconcile.Result{}, &putOff{*t, err}
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("%s: %w", t, err)
	}
	log.FromContext(ctx).Info("step", "action", t.Action, "member", t.Member, "why", t.String())
	c.metrics.steps.WithLabelValues(string(t.Action)).Inc()
	c.events.Eventf(d.Cluster, nil, corev1.EventTypeNormal, eventReasons[t.Action], eventReasons[t.Action], "%s", t)
	// Not every change by a step triggers the controller.
	return reconcile.Result{RequeueAfter: min(c.options.Busy, 100*time.Millisecond)}, nil
}
