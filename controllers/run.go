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

	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/handover"
	"github.com/usher-dev/usher/controllers/healing"
)

// LeaseName is the Lease that the replica whose controllers run holds.
const LeaseName = "usher-controller"

// Options configure Run. Addresses are host:port.
type Options struct {
	// Namespace is usher's own; the Lease is there.
	Namespace string
	// Controllers are the names of those to run: all of Names where empty.
	Controllers []string
	// LeaderElection lets one of several replicas run the controllers at a time.
	LeaderElection bool
	// Network are the options of the controller of that name.
	Network NetworkOptions
	// Healing are the options of the controller of that name; Run fills in the
	// namespace and the registry.
	Healing healing.Options
	// HealthAddress serves the kubelet, MetricsAddress Prometheus; "0" turns
	// them off.
	HealthAddress, MetricsAddress string
	Log                           logr.Logger
	// EtcdCluster are the options of the controller of that name.
	EtcdCluster etcdcluster.Options
	// EtcdBackupEndpoints are the etcd hosts in other namespaces or outside the
	// cluster that EtcdBackups may read; see etcdbackup.Reach.
	EtcdBackupEndpoints []string
	// Handover says where pods that are started for backups and restores find the
	// controllers.
	Handover handover.Options
	// PullSecrets are the names of Secrets by which the images of pods that the
	// controllers create are pulled, each in the pod's own namespace.
	PullSecrets []string
	// Repeated lets controllers be set up more than once in a process, as tests
	// do; their metrics are then of them all.
	Repeated bool

	// backups is what the controllers of backups and restores share.
	backups func() (*backups, error)
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if _, err := chosen(o.Controllers); err != nil {
		return fmt.Errorf("--controllers: %w", err)
	}
	return o.Network.Validate()
}

// Run runs the controllers until the context ends, and gives the Lease up.
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
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: cached(all)},
		Controller:                    config.Controller{SkipNameValidation: &o.Repeated},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	o.backups = sync.OnceValues(func() (*backups, error) { return serveBackups(m, o) })
	for _, c := range all {
		if err := c.setup(m, o); err != nil {
			return fmt.Errorf("setting up the controller %s: %w", c.name, err)
		}
	}
	return m.Start(ctx)
}
