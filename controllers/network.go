package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/multus"
	"github.com/usher-dev/usher/controllers/network/neutron"
)

const (
	// patience is how long to wait where only people can help.
	patience = time.Minute
	// networkWorkers are how many Networks are worked on at once.
	networkWorkers = 4
	// smallestMTU is what IPv6 asks of every link, largestMTU what fits a packet.
	smallestMTU, largestMTU = 1280, 65535
)

// NetworkOptions configure the controller of Networks.
type NetworkOptions struct {
	// Backend is what makes networks real, one of Backends; empty is multus.
	Backend string
	// MTU of the interfaces; zero leaves it to the kernel.
	MTU int
	// RemoveOrphans removes at the start what was made for Networks that are no
	// more.
	RemoveOrphans bool
	// Resync is how often a backend that cannot tell of changes is asked for
	// them; DefaultResync where zero.
	Resync time.Duration
	// CloudsFile is the clouds.yaml of the backend neutron, and Cloud the one in
	// it; the environment's OS_* where both are empty.
	CloudsFile, Cloud string
}

// DefaultResync is how often a backend that cannot tell of changes is asked.
const DefaultResync = 5 * time.Minute

// Backends are those that NetworkOptions.Backend chooses from.
func Backends() []string { return []string{multus.Name, neutron.Name} }

// Validate says what is wrong with the options.
func (o NetworkOptions) Validate() error {
	if o.Backend != "" && !slices.Contains(Backends(), o.Backend) {
		return fmt.Errorf("--network-backend: %q is unknown: choose from %s", o.Backend, strings.Join(Backends(), ", "))
	}
	if o.MTU != 0 && (o.MTU < smallestMTU || o.MTU > largestMTU) {
		return fmt.Errorf("--network-mtu: %d: choose one from %d to %d, or 0 for the kernel's", o.MTU, smallestMTU, largestMTU)
	}
	if (o.CloudsFile == "") != (o.Cloud == "") {
		return fmt.Errorf("--neutron-clouds-file is %q and --neutron-cloud is %q: write both, or neither to take the environment's OS_*", o.CloudsFile, o.Cloud)
	}
	if o.Resync < 0 {
		return fmt.Errorf("--network-resync: %s: choose a duration above zero", o.Resync)
	}
	return nil
}

// networkScheme adds the types of the controller and of every backend.
func networkScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{network.AddToScheme, multus.AddToScheme}).AddToScheme(s)
}

// setupNetwork makes the manager run the controller of Networks with the
// backend of its options.
func setupNetwork(m manager.Manager, o Options) error {
	options, err := networkBackend(m, o.Network)
	if err != nil {
		return err
	}
	options.Patience, options.Workers = patience, networkWorkers
	options.RemoveOrphans, options.Registry = o.Network.RemoveOrphans, metrics.Registry
	c, err := network.New(m, options)
	if err != nil {
		return err
	}
	return c.SetupWithManager(m)
}

// networkBackend is the backend, and how its controller learns of what happens
// outside.
func networkBackend(m manager.Manager, o NetworkOptions) (network.Options, error) {
	if o.Backend != neutron.Name {
		b, err := multus.New(m, multus.Options{MTU: o.MTU})
		if err != nil {
			return network.Options{}, err
		}
		return network.Options{Backend: b, Watch: b.Watch}, nil
	}
	cluster, err := clusterOf(m)
	if err != nil {
		return network.Options{}, err
	}
	b, err := neutron.New(neutron.Options{Cluster: cluster, CloudsFile: o.CloudsFile, Cloud: o.Cloud})
	if err != nil {
		return network.Options{}, err
	}
	return network.Options{Backend: b, Resync: cmp.Or(o.Resync, DefaultResync)}, nil
}

// clusterOf is what tells the cluster from others: the UID of the namespace
// that none is without and that nobody makes again.
func clusterOf(m manager.Manager) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := m.GetAPIReader().Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
		return "", fmt.Errorf("reading what tells the cluster from others: %w", err)
	}
	return string(ns.UID), nil
}
