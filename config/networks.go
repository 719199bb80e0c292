package config

import (
	"fmt"
	"net/netip"

	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/network/subnet"
)

// Networks configures Networks and the pods that declare them.
type Networks struct {
	// Backend creates Networks: multus, or neutron, which does not attach pods.
	Backend string `json:"backend,omitempty"`
	// ClusterCIDRs are the ranges of the cluster's Services, pods and nodes that
	// usher cannot read in the cluster; Networks cannot use them.
	ClusterCIDRs []string `json:"clusterCIDRs,omitempty"`
	// Pool contains the ranges of Deployments' own Networks; without it usher
	// creates none.
	Pool Pool `json:"pool,omitzero"`
}

// A Pool is a range of addresses, and the size of the parts that it is divided
// into.
type Pool struct {
	// CIDR is the whole range, such as 10.128.0.0/12.
	CIDR string `json:"cidr,omitempty"`
	// PrefixLength is the prefix length of each part, such as 24.
	PrefixLength int `json:"prefixLength,omitempty"`
}

// IsSet reports whether there is a pool.
func (p Pool) IsSet() bool { return p != Pool{} }

// Subnets parses the pool.
func (p Pool) Subnets() (subnet.Pool, error) { return subnet.ParsePool(p.CIDR, p.PrefixLength) }

// validate returns an error that begins with the field it is about.
func (n Networks) validate() error {
	switch n.Backend {
	case network.MultusBackend, network.NeutronBackend:
	default:
		return fmt.Errorf("backend is %q: write %s or %s", n.Backend, network.MultusBackend, network.NeutronBackend)
	}
	pool, errPool := subnet.ParseCIDR(n.Pool.CIDR)
	for i, cidr := range n.ClusterCIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return fmt.Errorf("clusterCIDRs[%d] is %q: write a range of addresses, such as 10.96.0.0/12", i, cidr)
		}
		if errPool == nil && prefix.Overlaps(pool) {
			return fmt.Errorf("pool.cidr is %s, which has addresses in common with clusterCIDRs[%d] (%s): write a range apart from those of the cluster", pool, i, cidr)
		}
	}
	if !n.Pool.IsSet() {
		return nil
	}
	if _, err := n.Pool.Subnets(); err != nil {
		return fmt.Errorf("pool.%w", err)
	}
	return nil
}
