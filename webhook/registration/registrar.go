package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// A Registrar keeps the webhook configurations in sync with the handlers'
// declarations, in the replica that holds the Lease.
type Registrar struct {
	Election *Election
	Client   client.Client
	Metadata metadata.Interface
	// Target is how the API server reaches usher; its CA bundle may change.
	Target func() Target
	// Paths returns the declarations to register; they may change with the
	// templates and the configuration.
	Paths func() []webhookspec.Path
	// Renew makes Paths at least as new as the templates on the API server, so that
	// a replica whose cache is stale does not undo what another one registered.
	Renew func(context.Context) error
	Names
	Log logr.Logger

	state   *state
	changed chan struct{}
	// self is the ServiceAccount that usher uses, once known; only the holder of
	// the Lease uses it.
	self *types.NamespacedName
}

// Names are the names of cluster-wide objects of an installation.
type Names struct {
	// Configuration is the name of the webhook configurations.
	Configuration string
	// Owner is the name of the ClusterRole that owns the configurations; "" means
	// that nothing owns them.
	Owner string
}

// Another client may edit the configurations continuously: allow thirty repairs
// at once, then one every two seconds.
const (
	repairRate  = 0.5
	repairBurst = 30
)

// resync is how often to check the configurations without a watch event.
const resync = 10 * time.Minute

// lookAgain is how often to check the declarations without an event: a kind
// that the configuration names may appear later.
const lookAgain = 5 * time.Second

// NewRegistrar returns the Registrar of a replica.
func NewRegistrar(m manager.Manager, election *Election, target func() Target, paths func() []webhookspec.Path, renew func(context.Context) error, names Names, metrics *Metrics, log logr.Logger) (*Registrar, error) {
	client, err := metadata.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	r := &Registrar{
		Election: election, Client: m.GetClient(), Metadata: client, Target: target, Paths: paths, Renew: renew, Names: names, Log: log,
		state: &state{name: names.Configuration, metrics: metrics, log: log}, changed: make(chan struct{}, 1),
	}
	election.noted = r.state.sought
	return r, nil
}

// State describes whether the registration is current, as a line of
// /readyz?verbose.
func (r *Registrar) State() string { return r.state.line() }

// Changed signals that the declarations or the target may have changed. It does
// not block.
func (r *Registrar) Changed() { wake(r.changed) }

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// Start seeks the Lease until ctx ends, and registers while it holds it, once a
// replica can serve. If usher's own namespace is deleted, it removes the
// registration, with or without the Lease.
func (r *Registrar) Start(ctx context.Context, serves <-chan struct{}) error {
	ctx, stop := context.WithCancel(ctx)
	var removal sync.WaitGroup
	removal.Go(func() { r.removeWithNamespace(ctx) })
	defer removal.Wait()
	defer stop()
	return r.Election.Run(ctx, func(ctx context.Context) {
		r.state.leads(errNotWritten)
		defer r.state.follows()
		select {
		case <-ctx.Done():
			return
		case <-serves:
		}
		if err := r.keep(ctx); err != nil && ctx.Err() == nil {
			r.state.leads(err)
			r.Log.Error(err, "cannot keep the registration")
			<-ctx.Done()
		}
	})
}

// keep applies the configurations and repairs them.
func (r *Registrar) keep(ctx context.Context) error {
	events := make(chan struct{}, 1)
	edited := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wake(events) }, UpdateFunc: func(any, any) { wake(events) }, DeleteFunc: func(any) { wake(events) },
	}
	for _, resource := range resources {
		// Without a watch the Registrar gets no events: only an apply shows whether
		// all is well.
		failed := func(error) { wake(events) }
		if _, err := r.watch(ctx, resource, r.Configuration, edited, failed); err != nil {
			return err
		}
	}
	owner, err := r.watchOwner(ctx)
	if err != nil {
		return err
	}
	limiter := flowcontrol.NewTokenBucketRateLimiter(repairRate, repairBurst)
	wake(events)
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	var applied []client.Object
	var later <-chan time.Time // a repair that has to wait because of the rate limit
	for {
		repair := false
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			repair = true
		case <-later:
			later, repair = nil, true
		case <-r.changed:
		case <-look.C:
		}
		if !repair && r.upToDate(owner, applied) {
			continue // most templates do not change the declarations
		}
		// usher's own changes do not wait for the rate limit of repairs: a CA or a
		// template depends on them.
		if repair && !limiter.TryAccept() {
			if later == nil {
				later = time.After(time.Duration(float64(time.Second) / repairRate))
			}
			continue
		}
		applied = r.untilApplied(ctx, owner)
	}
}

// watch watches the metadata of the object of that name until ctx ends.
func (r *Registrar) watch(ctx context.Context, resource schema.GroupVersionResource, name string, handler toolscache.ResourceEventHandler, failed func(error)) (toolscache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(r.Metadata, resource, metav1.NamespaceAll, resync, toolscache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}).Informer()
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watching the %s: %w", resource.Resource, err)
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
		failed(err)
	}); err != nil {
		return nil, fmt.Errorf("watching the %s: %w", resource.Resource, err)
	}
	go informer.RunWithContext(ctx)
	return informer, nil
}

// upToDate reports whether the applied configurations are the ones to register.
func (r *Registrar) upToDate(owner *owner, applied []client.Object) bool {
	owners, err := owner.references()
	return err == nil && equality.Semantic.DeepEqual(r.render(owners), applied)
}

// backoff is the time between attempts, until one succeeds.
func backoff() wait.DelayFunc {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 10 * time.Second}.DelayFunc()
}

// untilApplied retries until both configurations are applied, and returns them,
// or until another replica holds the Lease, or the owner or the namespace is
// gone.
func (r *Registrar) untilApplied(ctx context.Context, owner *owner) (applied []client.Object) {
	_ = backoff().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		holds, err := r.Election.Holds(ctx)
		if err == nil && !holds {
			r.state.follows()
			r.Log.Info("not registered: the Lease was taken", "lease", LeaseName)
			return true, nil
		}
		if err == nil {
			applied, err = r.apply(ctx, owner)
		}
		if ctx.Err() != nil {
			return true, nil
		}
		r.state.leads(err)
		return err == nil || errors.Is(err, errOwnerGone) || errors.Is(err, errNamespaceEnds), nil
	})
	return applied
}

// render returns the configurations to register.
func (r *Registrar) render(owners []metav1.OwnerReference) []client.Object {
	target, paths := r.Target(), r.Paths()
	target.Name, target.Owners = r.Configuration, owners
	if r.self != nil {
		target.Account = *r.self
	}
	return []client.Object{Mutating(target, paths...), Validating(target, paths...)}
}

func (r *Registrar) apply(ctx context.Context, owner *owner) ([]client.Object, error) {
	// Without its owner usher has no right to read the namespace.
	owners, err := owner.references()
	if err != nil {
		return nil, err
	}
	if err := r.namespaceEnds(ctx); err != nil {
		return nil, err
	}
	if err := r.Renew(ctx); err != nil {
		return nil, err
	}
	if r.self == nil {
		if r.self, err = r.account(ctx); err != nil {
			return nil, err
		}
	}
	configurations := r.render(owners)
	for _, configuration := range configurations {
		if err := Apply(ctx, r.Client, configuration); err != nil {
			return nil, err
		}
	}
	return configurations, nil
}
