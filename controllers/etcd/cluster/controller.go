// Package cluster runs etcd clusters whose members are pods.
//
// etcd's own list says who the members are; pods and claims are what they run
// on. Reconcile looks at both, has package plan decide one step, takes it, and looks again: nothing is remembered from one look to
// the next, so the controller may be killed before and after any call. It never
// removes a member, nor data, that the others cannot vote without.
package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// DefaultSettling is how long a member may be down before it is replaced.
const DefaultSettling = 5 * time.Minute

// Options configure a Controller. The zero value is what is run in a cluster.
type Options struct {
	// Settling is how long a member may be down before it is replaced, where the
	// others go on without it, and how long a majority is lost before a cluster
	// that asks for it is restored: DefaultSettling where it is zero.
	Settling time.Duration
	// Busy is how long after a step the next look is at the latest, Calm how long
	// after one that found nothing to do: a second and half a minute where they
	// are zero.
	Busy, Calm time.Duration
	// ClaimGrace is how long claims of members that were removed are kept before
	// they are deleted: DefaultClaimGrace where it is zero.
	ClaimGrace time.Duration
	// Namespace is the only one whose clusters are looked at, where the cache of
	// the manager holds no other; "" where it holds all.
	Namespace string
}

func (o *Options) complete() {
	for value, otherwise := range map[*time.Duration]time.Duration{&o.Settling: DefaultSettling, &o.ClaimGrace: DefaultClaimGrace, &o.Busy: time.Second, &o.Calm: 30 * time.Second} {
		if *value == 0 {
			*value = otherwise
		}
	}
}

// AddToScheme adds the types the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{
		corev1.AddToScheme, policyv1.AddToScheme, metav1.AddMetaToScheme, etcdv1beta2.AddToScheme, certmanagerv1.AddToScheme,
	}).AddToScheme(s)
}

// A Controller keeps clusters as their manifests say.
type Controller struct {
	client client.Client
	// reader asks the API server: decisions are never taken on a cache.
	reader   client.Reader
	events   events.EventRecorder
	options  Options
	metrics  *metrics
	silence  silence
	memories memories
	// connect connects to a cluster's etcd.
	connect func(context.Context, []endpoint, *tls.Config) (caller, error)
}

// New returns the controller of that manager's cluster.
func New(m manager.Manager, o Options) *Controller {
	o.complete()
	return &Controller{
		client: m.GetClient(), reader: m.GetAPIReader(), events: m.GetEventRecorder("usher-etcdcluster"),
		options: o, metrics: newMetrics(), connect: connect,
	}
}

// SetupWithManager makes the manager run the controller.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	b := ctrl.NewControllerManagedBy(m).
		Named("etcdcluster").
		For(&etcdv1beta2.EtcdCluster{}).
		// A look waits for members that do not answer.
		WithOptions(controller.Options{MaxConcurrentReconciles: 8, RateLimiter: Retries()})
	sources, err := parts(m, c.options.Namespace)
	if err != nil {
		return err
	}
	for _, s := range sources {
		b.WatchesRawSource(s)
	}
	return b.Complete(c)
}

// Retries spaces what is tried again after an error: at most 10 seconds apart.
// The default goes up to 17 minutes, in which a cluster would be left alone for an
// error that is long over.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 10*time.Second)
}

// Reconcile looks at a cluster and takes the next step.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cluster := &etcdv1beta2.EtcdCluster{}
	if err := c.reader.Get(ctx, req.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.DeletionTimestamp != nil {
		return reconcile.Result{}, c.release(ctx, cluster)
	}
	if err := c.hold(ctx, cluster); err != nil {
		return reconcile.Result{}, err
	}
	if restore := cluster.Annotations[etcdv1beta2.AnnotationRestore]; restore != "" {
		return c.leave(ctx, cluster, restore)
	}
	s, err := c.look(ctx, cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	d := desire(effective(cluster, s))
	if err := c.prepare(ctx, d); err != nil {
		return reconcile.Result{}, err
	}
	if err := c.know(ctx, d, s); err != nil {
		return reconcile.Result{}, err
	}
	if s.etcd != nil {
		defer func() { _ = s.etcd.Close() }()
	}
	if err := c.keepClaims(ctx, d, s); err != nil {
		return reconcile.Result{}, err
	}
	c.setMembers(d, s, &cluster.Status)
	s.Missing = d.unable
	p := plan.Next(&cluster.Spec, &s.Observation)
	if err := c.ensureDisruptionBudget(ctx, d, s); err != nil {
		return reconcile.Result{}, err
	}
	if err := c.report(ctx, cluster, d, s, p); err != nil {
		return reconcile.Result{}, err
	}
	if mayRestore(cluster, time.Now(), c.options.Settling) {
		if err := c.autoRestore(ctx, cluster); err != nil {
			return reconcile.Result{}, err
		}
	}
	return c.take(ctx, d, s, p.Now())
}

// prepare makes what members need before they are. What is missing that others
// make, it notes.
func (c *Controller) prepare(ctx context.Context, d *desired) error {
	err := errors.Join(c.ensureServices(ctx, d), c.ensureCertificates(ctx, d))
	if err == nil {
		err = d.tls.read(ctx, c.reader, d.cluster.Namespace)
	}
	if m := (missing{}); errors.As(err, &m) {
		d.unable, err = m.what, nil
	}
	return err
}

// take takes a step and says when to look again.
func (c *Controller) take(ctx context.Context, d *desired, s *observed, t *plan.Step) (reconcile.Result, error) {
	if t == nil {
		return reconcile.Result{RequeueAfter: c.options.Calm}, nil
	}
	done, err := c.execute(ctx, d, s, t)
	switch {
	case errors.Is(err, errNotYet), apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("put off", "action", t.Action, "member", t.Member, "because", err.Error())
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("%s: %w", t, err)
	case !done:
		return reconcile.Result{RequeueAfter: c.options.Busy}, nil
	}
	log.FromContext(ctx).Info("step", "action", t.Action, "member", t.Member, "why", t.String())
	c.metrics.steps.WithLabelValues(string(t.Action)).Inc()
	c.events.Eventf(d.cluster, nil, corev1.EventTypeNormal, eventReasons[t.Action], eventReasons[t.Action], "%s", t)
	// Not everything that a step changes wakes the controller up.
	return reconcile.Result{RequeueAfter: min(c.options.Busy, 100*time.Millisecond)}, nil
}
