// Package cluster gathers what decisions need to know about a cluster: from
// informers that store as little as possible, and from the API server if a
// cache may be stale.
package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/verdict"
)

// serverInterval is how often the versions of the server and the kubelets are
// read again, because clusters are upgraded.
const serverInterval = 5 * time.Minute

// usableInterval is how often a replica without a valid configuration checks
// for one.
const usableInterval = time.Second

// Stores have what usher has read of a cluster.
type Stores struct {
	// Scope is the namespaces that usher serves.
	Scope         decision.Scope
	Templates     *Templates
	Namespaces    *Namespaces
	Configuration *Configuration
	// Server is the API server's version, nil if unknown.
	Server func() *version.Version
	// NativeSidecars knows whether the cluster supports native sidecars.
	NativeSidecars func() bool
	// Objects lists the other objects that rules read.
	Objects  *Lister
	Networks *Networks
	DryRun   *DryRun
	// Reader must not be a cache.
	Reader client.Reader
}

// Facts are what decisions know about a cluster. They are a facts.Source.
type Facts struct {
	Stores
	world atomic.Pointer[verdict.World]
	// onChange is called when the registration may change.
	onChange func()

	sidecars *Sidecars
	cache    cache.Cache
	synced   []toolscache.InformerSynced
	log      logr.Logger
}

// Of returns the facts of stores, whatever stores them.
func Of(s Stores) *Facts {
	f := &Facts{Stores: s, onChange: func() {}}
	changed := func() {
		f.replaceWorld()
		f.onChange()
	}
	s.Templates.Changed, s.Configuration.Changed = changed, changed
	s.Namespaces.Changed = func() { f.onChange() }
	f.replaceWorld()
	return f
}

// New returns the facts of a manager's cluster, whose caches ByObject limits.
// They are complete after Sync. proof is the namespace for dry runs of pods.
func New(ctx context.Context, m manager.Manager, scope decision.Scope, proof string, registry prometheus.Registerer, log logr.Logger) (*Facts, error) {
	versions, err := discovery.NewDiscoveryClientForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	reader := m.GetAPIReader()
	metrics := NewMetrics(registry)
	sidecars := &Sidecars{Discovery: versions, Reader: reader, Interval: serverInterval, Metrics: metrics, Log: log}
	objects := NewLister(reader, ListTimeout)
	f := Of(Stores{
		Scope:         scope,
		Templates:     NewTemplates(scope.ReleaseNamespace, reader, metrics, log),
		Namespaces:    NewNamespaces(reader),
		Configuration: NewConfiguration(metrics, log),
		Server:        sidecars.Server, NativeSidecars: sidecars.Available,
		Objects:  objects,
		Networks: &Networks{Reader: reader, Related: &objects.Related},
		DryRun:   &DryRun{Writer: m.GetClient(), Namespace: proof},
		Reader:   reader,
	})
	sidecars.Changed = f.replaceWorld
	f.sidecars, f.cache, f.log = sidecars, m.GetCache(), log
	if f.synced, err = startInformers(ctx, f.cache, f.Templates, f.Namespaces, f.Configuration); err != nil {
		return nil, err
	}
	return f, m.Add(sidecars)
}

// OnChange registers f for changes that may affect the registration. It must be
// called before the manager starts, and f must not block.
func (f *Facts) OnChange(changed func()) { f.onChange = changed }

// Sync waits until the facts are complete. It returns false if ctx ends first.
func (f *Facts) Sync(ctx context.Context) (bool, error) {
	if !toolscache.WaitForCacheSync(ctx.Done(), f.synced...) {
		return false, nil
	}
	// A replica without a valid configuration leaves decisions to the others.
	usable := func(context.Context) (bool, error) { return f.Configuration.Ready() == nil, nil }
	if wait.PollUntilContextCancel(ctx, usableInterval, true, usable) != nil {
		return false, nil
	}
	f.Configuration.begin()
	return true, f.sidecars.Update(ctx)
}

// Follow runs caches that speed decisions up but are not necessary.
func (f *Facts) Follow(ctx context.Context) {
	f.Objects.Related.Follow(ctx, f.cache, f.log)
	f.Networks.Follow(ctx, f.cache, f.log)
}
