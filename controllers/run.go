package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/controllers/etcd/reach"
	"github.com/usher-dev/usher/controllers/healing"
	"github.com/usher-dev/usher/controllers/transfer"
)

// LeaseName is the Lease of the replica that runs the controllers.
const LeaseName = wellknown.ControllerLease

// Options configures Run. Addresses are host:port.
type Options struct {
	// Namespace is usher's own namespace, which contains the Lease.
	Namespace string
	// Controllers are the names of those to run; the default is all of Names.
	Controllers []string
	// LeaderElection lets only one of several replicas run the controllers at a
	// time.
	LeaderElection bool
	// Network configures the controller of that name.
	Network NetworkOptions
	// Healing configures the controller of that name; Run sets the namespace and
	// the registry.
	Healing healing.Options
	// HealthAddress serves the kubelet, MetricsAddress Prometheus; "0" disables
	// them.
	HealthAddress, MetricsAddress string
	Log                           logr.Logger
	// EtcdCluster configures the controller of that name.
	EtcdCluster etcdcluster.Options
	// EtcdBackupEndpoints are the etcd hosts in other namespaces or outside the
	// cluster that EtcdBackups may read; see etcdbackup.Reach.
	EtcdBackupEndpoints []string
	// StoreEndpoints are the stores of backups that EtcdBackups and EtcdRestores
	// may use besides those that every object may use; see reach.Stores.
	StoreEndpoints []string
	// StoreProxy sends requests to stores in StoreEndpoints through the proxy that
	// the environment names (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
	StoreProxy bool
	// PodServer configures the server for the pods of backups and restores.
	PodServer transfer.Options
	// PullSecrets are the names of the imagePullSecrets of created pods, each in
	// the pod's own namespace.
	PullSecrets []string
	// Repeated allows controllers to be set up more than once in a process, as in
	// tests, which then share their metrics.
	Repeated bool

	// backups is shared by the controllers of backups and restores.
	backups func() (*backups, error)
	// observer is shared by the controllers of clusters and of restores.
	observer func() *observe.Observer
}

// Validate reports invalid options.
func (o Options) Validate() error {
	if _, err := chosen(o.Controllers); err != nil {
		return fmt.Errorf("--controllers: %w", err)
	}
	if _, err := reach.ParseDestinations(o.StoreEndpoints); err != nil {
		return fmt.Errorf("%s: %w", reach.Flag, err)
	}
	return o.Network.Validate()
}

// Run runs the controllers until the context ends, and releases the Lease.
func Run(ctx context.Context, restConfig *rest.Config, o Options) error {
	all, err := chosen(o.Controllers)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, c := range all {
		if err := c.scheme(scheme); err != nil {
			return err
		}
	}
	m, err := manager.New(restConfig, manager.Options{
		Scheme:                        scheme,
		NewClient:                     withPullSecrets(o.PullSecrets),
		Logger:                        o.Log,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        o.HealthAddress,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: cached(all, o)},
		Controller:                    config.Controller{SkipNameValidation: &o.Repeated},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	o.backups = sync.OnceValues(func() (*backups, error) { return serveBackups(m, o) })
	o.observer = sync.OnceValue(func() *observe.Observer { return etcdcluster.NewObserver(m, o.EtcdCluster) })
	for _, c := range all {
		if err := c.setup(m, o); err != nil {
			return fmt.Errorf("setting up the controller %s: %w", c.name, err)
		}
	}
	return m.Start(ctx)
}
