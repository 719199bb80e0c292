// Package network reconciles Networks with a given backend.
//
// The phases of a Network, one per file:
//
//	watch   select the relevant changes of a Network
//	gate    report an invalid Network, without calling the backend
//	ranges  know the cluster's own ranges, which no Network can have
//	claim   add the finalizer, before the first external call
//	ensure  create or change the network with the backend
//	remove  remove the network before the Network is deleted
//	report  write the status and Events
//	audit   at startup, find networks with the backend's mark but no Network
package network

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

// Options configures a Controller.
type Options struct {
	// Backend creates the networks.
	Backend backend.Backend
	// Watch notifies the controller of external changes; nil if the backend
	// cannot.
	Watch func(manager.Manager, controller.Controller) error
	// Resync is how often to check a Network that is Ready again, if Watch does
	// not report everything; zero means never.
	Resync time.Duration
	// RetryAfter is how soon to retry if a person has to act.
	RetryAfter time.Duration
	// Workers is how many Networks to reconcile at once.
	Workers int
	// RemoveOrphans removes orphaned networks at startup. Without it they are
	// logged.
	RemoveOrphans bool
	// Namespace is usher's own, which contains its configuration.
	Namespace string
	// Registry receives the metrics.
	Registry prometheus.Registerer
}

// A Controller reconciles networks with Networks.
type Controller struct {
	client client.Client
	// live reads from the API server.
	live    client.Reader
	events  events.EventRecorder
	log     logr.Logger
	rules   *policies.Evaluator
	ranges  *ranges
	options Options
	metrics *metrics
}

// AddToScheme adds the types that the controller reads and writes, except those
// of its backend.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{samplecrdv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme}).AddToScheme(s)
}

// New returns the controller for that manager's cluster.
func New(m manager.Manager, o Options) (*Controller, error) {
	rules, err := rules.New(policies.Options{Level: finding.Invariant})
	if err != nil {
		return nil, err
	}
	c := &Controller{
		client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder("usher-network"), log: m.GetLogger().WithName("network"),
		rules: rules, options: o, metrics: newMetrics(o.Registry),
	}
	c.ranges = &ranges{live: c.live, namespace: o.Namespace, log: c.log}
	c.options.Backend = &measured{Backend: o.Backend, calls: c.metrics.calls}
	return c, nil
}

// SetupWithManager adds the controller, and a single audit, to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	built, err := ctrl.NewControllerManagedBy(m).
		Named("network").
		For(&samplecrdv1.Network{}, builder.WithPredicates(asked())).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(c.options.Workers, 1)}).
		Build(c)
	if err != nil {
		return err
	}
	if err := m.Add(manager.RunnableFunc(c.audit)); err != nil {
		return err
	}
	if c.options.Watch == nil {
		return nil
	}
	return c.options.Watch(m, built)
}

// Reconcile brings one network to the state in its Network.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	n := &samplecrdv1.Network{}
	if err := c.client.Get(ctx, req.NamespacedName, n); apierrors.IsNotFound(err) {
		c.metrics.forget(req.NamespacedName) // the finalizer ensured the cleanup
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if n.DeletionTimestamp != nil {
		return c.remove(ctx, n)
	}
	want, note, wrong := c.validate(ctx, n)
	if wrong != nil {
		return c.report(ctx, n, outcome{err: wrong})
	}
	if err := c.addFinalizer(ctx, n); err != nil {
		return requeue(err)
	}
	o := c.ensure(ctx, want)
	o.note = note
	return c.report(ctx, n, o)
}

// behind is how long to wait for a stale cache.
const behind = 100 * time.Millisecond

// requeue retries: soon and without an error if the Network is newer than the
// cache, or deleted, otherwise with back-off.
func requeue(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: behind}, nil
	}
	return reconcile.Result{}, err
}

// ownerOf identifies a Network for backends.
func ownerOf(n *samplecrdv1.Network) backend.Owner {
	return backend.Owner{Namespace: n.Namespace, Name: n.Name, UID: n.UID}
}
