// Package controllers runs usher's controllers in one process: those of usher's
// custom resources, and those of features that namespaces enable by label. Each
// has a folder of its own; none of them handles requests.
package controllers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
	"github.com/usher-dev/usher/controllers/healing"
	"github.com/usher-dev/usher/controllers/ownnetwork"
	"github.com/usher-dev/usher/controllers/refusals"
	"github.com/usher-dev/usher/controllers/serviceaccount"
)

// A controller is one that Run can run.
type controller struct {
	name string
	// scheme adds the types that it reads and writes.
	scheme func(*runtime.Scheme) error
	// cache limits what is cached of them; nil caches everything that is watched.
	cache func(Options) map[client.Object]cache.ByObject
	setup func(manager.Manager, Options) error
}

// known are the controllers, in the order of their setup.
func known() []controller {
	return []controller{
		{
			name: "etcdbackup", scheme: etcdbackup.AddToScheme,
			setup: func(m manager.Manager, o Options) error {
				shared, err := o.backups()
				if err != nil {
					return err
				}
				return etcdbackup.New(m, shared.places, o.EtcdBackupEndpoints).SetupWithManager(m)
			},
		},
		{
			name: "serviceaccount", scheme: serviceaccount.AddToScheme, cache: func(Options) map[client.Object]cache.ByObject { return serviceaccount.Cache() },
			setup: func(m manager.Manager, _ Options) error { return serviceaccount.New(m).SetupWithManager(m) },
		},
		{
			name: "etcdrestore", scheme: etcdrestore.AddToScheme,
			setup: func(m manager.Manager, o Options) error {
				shared, err := o.backups()
				if err != nil {
					return err
				}
				return etcdrestore.New(m, shared.server, shared.places, o.observer(), o.EtcdCluster.ClaimGrace).SetupWithManager(m)
			},
		},
		{
			name: "etcdcluster", scheme: etcdcluster.AddToScheme,
			setup: func(m manager.Manager, o Options) error {
				return etcdcluster.New(m, o.observer(), o.EtcdCluster).SetupWithManager(m)
			},
		},
		{
			name: "ownnetwork", scheme: ownnetwork.AddToScheme,
			cache: func(o Options) map[client.Object]cache.ByObject { return ownnetwork.Cache(o.Namespace) },
			setup: func(m manager.Manager, o Options) error { return ownnetwork.New(m, o.Namespace).SetupWithManager(m) },
		},
		{
			name: "refusals", scheme: refusals.AddToScheme, cache: func(Options) map[client.Object]cache.ByObject { return refusals.Cache() },
			setup: func(m manager.Manager, _ Options) error { return refusals.New(m).SetupWithManager(m) },
		},
		{name: "network", scheme: networkScheme, setup: setupNetwork},
		{
			name: "healing", scheme: healing.AddToScheme,
			setup: func(m manager.Manager, o Options) error {
				h := o.Healing
				h.Namespace, h.Registry = o.Namespace, metrics.Registry
				c, err := healing.New(m, h)
				if err != nil {
					return err
				}
				return c.SetupWithManager(m)
			},
		},
	}
}

// Names returns the controllers that Options.Controllers selects from.
func Names() []string {
	var names []string
	for _, c := range known() {
		names = append(names, c.name)
	}
	return names
}

// chosen returns the controllers with those names, or all if there are none.
func chosen(names []string) ([]controller, error) {
	all := known()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("controller %q is unknown: choose from %s", name, strings.Join(Names(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(c controller) bool { return !slices.Contains(names, c.name) }), nil
}

// cached is the union of the controllers' caches.
func cached(all []controller, o Options) map[client.Object]cache.ByObject {
	kept := map[client.Object]cache.ByObject{}
	for _, c := range all {
		if c.cache != nil {
			maps.Copy(kept, c.cache(o))
		}
	}
	return kept
}
