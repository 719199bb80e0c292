package controllers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/multus"
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
}

// Backends are those that NetworkOptions.Backend chooses from.
func Backends() []string { return []string{multus.Name} }

// Validate says what is wrong with the options.
func (o NetworkOptions) Validate() error {
	if o.Backend != "" && !slices.Contains(Backends(), o.Backend) {
		return fmt.Errorf("--network-backend: %q is unknown: choose from %s", o.Backend, strings.Join(Backends(), ", "))
	}
	if o.MTU != 0 && (o.MTU < smallestMTU || o.MTU > largestMTU) {
		return fmt.Errorf("--network-mtu: %d: choose one from %d to %d, or 0 for the kernel's", o.MTU, smallestMTU, largestMTU)
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
	b, err := multus.New(m, multus.Options{MTU: o.Network.MTU})
	if err != nil {
		return err
	}
	c, err := network.New(m, network.Options{
		Backend: b, Watch: b.Watch, Patience: patience, Workers: networkWorkers,
		RemoveOrphans: o.Network.RemoveOrphans, Registry: metrics.Registry,
	})
	if err != nil {
		return err
	}
	return c.SetupWithManager(m)
}
