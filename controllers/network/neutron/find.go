package neutron

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
)

// networksOf returns the networks with an owner's mark.
func (b *Backend) networksOf(ctx context.Context, c *connection, owner backend.Owner) ([]networks.Network, error) {
	return b.networks(ctx, c, networks.ListOpts{Description: b.marks.network(owner)})
}

// networks returns those of the project.
func (b *Backend) networks(ctx context.Context, c *connection, opts networks.ListOpts) ([]networks.Network, error) {
	opts.ProjectID = c.project
	pages, err := networks.List(c.ServiceClient, opts).AllPages(ctx)
	if err != nil {
		return nil, b.failed(c, "listing networks", err)
	}
	found, err := networks.ExtractNetworks(pages)
	if err != nil {
		return nil, fmt.Errorf("reading Neutron's list of networks: %w", err)
	}
	return found, nil
}

// subnets returns those of a network, or of the project if the ID is "".
func (b *Backend) subnets(ctx context.Context, c *connection, network string) ([]subnets.Subnet, error) {
	pages, err := subnets.List(c.ServiceClient, subnets.ListOpts{NetworkID: network, ProjectID: c.project}).AllPages(ctx)
	if err != nil {
		return nil, b.failed(c, "listing subnets", err)
	}
	found, err := subnets.ExtractSubnets(pages)
	if err != nil {
		return nil, fmt.Errorf("reading Neutron's list of subnets: %w", err)
	}
	return found, nil
}

// An occupancy is the content of a network.
type occupancy struct {
	// subnets are all subnets, whoever created them.
	subnets []subnets.Subnet
	// users are the ports that others attached, and the subnets of others that
	// would be deleted with the network, sorted.
	users []string
}

// occupancyOf reads the content of a network.
func (b *Backend) occupancyOf(ctx context.Context, c *connection, network networks.Network) (occupancy, error) {
	var on occupancy
	pages, err := ports.List(c.ServiceClient, ports.ListOpts{NetworkID: network.ID}).AllPages(ctx)
	if err != nil {
		return on, b.failed(c, "listing the ports of network "+network.ID, err)
	}
	attached, err := ports.ExtractPorts(pages)
	if err != nil {
		return on, fmt.Errorf("reading Neutron's list of ports: %w", err)
	}
	for _, p := range attached {
		// Neutron deletes its own ports with the subnet.
		if p.DeviceOwner != "network:dhcp" && p.DeviceOwner != "network:distributed" {
			on.users = append(on.users, described("port", p.Name, p.ID))
		}
	}
	if on.subnets, err = b.subnets(ctx, c, network.ID); err != nil {
		return on, err
	}
	for _, s := range on.subnets {
		if _, ours := b.marks.uid(s.Description); !ours {
			on.users = append(on.users, described("subnet", s.Name, s.ID))
		}
	}
	slices.Sort(on.users)
	return on, nil
}

// described names an object for people: by its name, which need not be unique,
// and its ID.
func described(kind, name, id string) string {
	if name == "" {
		return kind + " " + id
	}
	return fmt.Sprintf("%s %s (%s)", kind, name, id)
}

// made describes an owner's network with its subnet, if it has one.
func made(owner backend.Owner, network networks.Network, s *subnets.Subnet) (*backend.Made, error) {
	m := &backend.Made{Owner: owner, Resources: []samplecrdv1.Resource{{Kind: "Network", Name: network.Name, ID: network.ID}}}
	if s == nil {
		return m, nil
	}
	var err error
	if m.Subnet, err = addresses(*s); err != nil {
		return nil, err
	}
	m.Resources = append(m.Resources, samplecrdv1.Resource{Kind: "Subnet", Name: s.Name, ID: s.ID})
	return m, nil
}

// addresses parses those of a subnet. Its gateway may be outside of the range,
// which Neutron allows.
func addresses(s subnets.Subnet) (subnet.Subnet, error) {
	prefix, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return subnet.Subnet{}, fmt.Errorf("subnet %s: reading its cidr: %w", s.ID, err)
	}
	read := subnet.Subnet{Prefix: prefix.Masked()}
	if s.GatewayIP != "" {
		if read.Gateway, err = netip.ParseAddr(s.GatewayIP); err != nil {
			return subnet.Subnet{}, fmt.Errorf("subnet %s: reading its gateway: %w", s.ID, err)
		}
	}
	return read, nil
}

// ids formats the IDs of networks for a message.
func ids(all []networks.Network) string {
	var names []string
	for _, n := range all {
		names = append(names, n.ID)
	}
	return strings.Join(names, ", ")
}
