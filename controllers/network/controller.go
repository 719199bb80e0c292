// Package network makes Networks real, by whichever backend it is given.
//
// The path of a Network, a phase a file:
//
//	watch   what of a Network's changes asks for something
//	gate    what could never be made is told and left alone
//	claim   the finalizer, before the first call outside
//	ensure  the backend makes it, changes it, or says why not
//	remove  what was made goes before the Network does
//	report  the status, and Events of what happened
//	audit   at the start: what carries the backend's mark and has no Network
package network

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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

// Options configure a Controller.
type Options struct {
	// Backend makes the networks.
	Backend backend.Backend
	// Watch lets the controller learn of what happens outside; nil where the
	// backend cannot tell.
	Watch func(manager.Manager, controller.Controller) error
	// Resync is how often a Network that is Ready is looked at again, where
	// Watch does not tell of everything; zero is never.
	Resync time.Duration
	// Patience is how long to wait where only people can help.
	Patience time.Duration
	// Workers are how many Networks are worked on at once.
	Workers int
	// RemoveOrphans removes at the start what the backend made for Networks
	// that are no more. Without it they are listed.
	RemoveOrphans bool
	// Registry takes the metrics.
	Registry prometheus.Registerer
}

// A Controller keeps networks as Networks say.
type Controller struct {
	client client.Client
	// live reads what is there now.
	live    client.Reader
	events  events.EventRecorder
	log     logr.Logger
	rules   *policies.Evaluator
	options Options
	metrics *metrics
}

// AddToScheme adds the types the controller reads and writes, those of its
// backend apart.
func AddToScheme(s *runtime.Scheme) error { return samplecrdv1.AddToScheme(s) }

// New returns the controller of that manager's cluster.
func New(m manager.Manager, o Options) (*Controller, error) {
	rules, err := rules.New(policies.Options{Level: finding.Invariant})
	if err != nil {
		return nil, err
	}
	c := &Controller{
		client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder("usher-network"), log: m.GetLogger().WithName("network"),
		rules: rules, options: o, metrics: newMetrics(o.Registry),
	}
	c.options.Backend = &measured{Backend: o.Backend, calls: c.metrics.calls}
	return c, nil
}

// SetupWithManager makes the manager run the controller, and the audit once.
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

// Reconcile brings one network to what its Network says.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	n := &samplecrdv1.Network{}
	if err := c.client.Get(ctx, req.NamespacedName, n); apierrors.IsNotFound(err) {
		c.metrics.forget(req.NamespacedName) // the finalizer saw to what was made
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if n.DeletionTimestamp != nil {
		return c.remove(ctx, n)
	}
	want, wrong := c.gate(n)
	if wrong != nil {
		return c.report(ctx, n, outcome{err: wrong})
	}
	if err := c.claim(ctx, n); err != nil {
		return again(err)
	}
	return c.report(ctx, n, c.ensure(ctx, want))
}

// behind is how long to wait for a cache that is.
const behind = 100 * time.Millisecond

// again has the queue try again: soon and in silence where the Network is newer
// than the cache knew, or gone, else ever more slowly.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: behind}, nil
	}
	return reconcile.Result{}, err
}

// ownerOf is how backends know a Network.
func ownerOf(n *samplecrdv1.Network) backend.Owner {
	return backend.Owner{Namespace: n.Namespace, Name: n.Name, UID: n.UID}
}
