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
	// retryAfter is how soon to retry if a person has to act.
	retryAfter = time.Minute
	// networkWorkers is how many Networks to reconcile at once.
	networkWorkers = 4
	// smallestMTU is the minimum MTU of IPv6, largestMTU the maximum size of a
	// packet.
	smallestMTU, largestMTU = 1280, 65535
)

// NetworkOptions configures the controller of Networks.
type NetworkOptions struct {
	// Backend is one of Backends; "" means multus.
	Backend string
	// MTU is the MTU of the interfaces; zero leaves it to the kernel.
	MTU int
	// RemoveOrphans removes orphaned networks at startup.
	RemoveOrphans bool
	// Resync is how often to poll a backend without watches; the default is
	// DefaultResync.
	Resync time.Duration
	// CloudsFile is the clouds.yaml of the backend neutron, and Cloud the cloud in
	// it; if both are empty, the variables OS_* apply.
	CloudsFile, Cloud string
	// RequestsPerSecond limits the requests to Neutron; the default is
	// neutron.DefaultRequestsPerSecond.
	RequestsPerSecond float64
}

// DefaultResync is how often a backend without watches is polled.
const DefaultResync = 5 * time.Minute

// Backends are the values of NetworkOptions.Backend.
func Backends() []string { return []string{multus.Name, neutron.Name} }

// Validate reports invalid options.
func (o NetworkOptions) Validate() error {
	if o.Backend != "" && !slices.Contains(Backends(), o.Backend) {
		return fmt.Errorf("--network-backend: %q is unknown: choose from %s", o.Backend, strings.Join(Backends(), ", "))
	}
	if o.MTU != 0 && (o.MTU < smallestMTU || o.MTU > largestMTU) {
		return fmt.Errorf("--network-mtu: %d: choose a number from %d to %d, or 0 for the kernel's default", o.MTU, smallestMTU, largestMTU)
	}
	if (o.CloudsFile == "") != (o.Cloud == "") {
		return fmt.Errorf("--neutron-clouds-file is %q and --neutron-cloud is %q: set both, or neither to use the variables OS_*", o.CloudsFile, o.Cloud)
	}
	if o.RequestsPerSecond < 0 {
		return fmt.Errorf("--neutron-requests-per-second: %v: choose a number above zero", o.RequestsPerSecond)
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

// setupNetwork adds the controller of Networks with its backend to the manager.
func setupNetwork(m manager.Manager, o Options) error {
	options, err := networkBackend(m, o.Network)
	if err != nil {
		return err
	}
	options.RetryAfter, options.Workers = retryAfter, networkWorkers
	options.RemoveOrphans, options.Registry, options.Namespace = o.Network.RemoveOrphans, metrics.Registry, o.Namespace
	c, err := network.New(m, options)
	if err != nil {
		return err
	}
	return c.SetupWithManager(m)
}

// networkBackend returns the backend, and how its controller learns about
// external changes.
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
	b, err := neutron.New(neutron.Options{Cluster: cluster, CloudsFile: o.CloudsFile, Cloud: o.Cloud, RequestsPerSecond: o.RequestsPerSecond})
	if err != nil {
		return network.Options{}, err
	}
	return network.Options{Backend: b, Resync: cmp.Or(o.Resync, DefaultResync)}, nil
}

// clusterOf returns the identity of the cluster: the UID of a namespace that
// every cluster has and that is never recreated.
func clusterOf(m manager.Manager) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := m.GetAPIReader().Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
		return "", fmt.Errorf("reading the UID of the cluster: %w", err)
	}
	return string(ns.UID), nil
}
