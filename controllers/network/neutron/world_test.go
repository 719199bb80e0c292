//go:build neutron

package neutron_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/network/subnet"
)

// A world is Neutron as the project's user sees it.
type world struct{ client *gophercloud.ServiceClient }

func (e *tenant) world(t *testing.T) world {
	t.Helper()
	client, err := e.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return world{client}
}

// all returns the project's networks with that name, or any if it is "".
func (w world) all(t *testing.T, name string) []networks.Network {
	t.Helper()
	pages, err := networks.List(w.client, networks.ListOpts{Name: name}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := networks.ExtractNetworks(pages)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// one returns the owner's only network.
func (w world) one(t *testing.T, owner backend.Owner) networks.Network {
	t.Helper()
	found := w.all(t, owner.String())
	if len(found) != 1 {
		t.Fatalf("%d networks are named %s: %+v", len(found), owner, found)
	}
	return found[0]
}

// part returns the only subnet of the owner's only network.
func (w world) part(t *testing.T, owner backend.Owner) subnets.Subnet {
	t.Helper()
	n := w.one(t, owner)
	if len(n.Subnets) != 1 {
		t.Fatalf("network %s has the subnets %v, want one", n.ID, n.Subnets)
	}
	s, err := subnets.Get(t.Context(), w.client, n.Subnets[0]).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

func (w world) Networks(t *testing.T, owner backend.Owner) []subnet.Subnet {
	t.Helper()
	var list []subnet.Subnet
	for _, n := range w.all(t, owner.String()) {
		if len(n.Subnets) == 0 {
			list = append(list, subnet.Subnet{})
		}
		for _, id := range n.Subnets {
			s, err := subnets.Get(t.Context(), w.client, id).Extract()
			if err != nil {
				t.Fatal(err)
			}
			read := subnet.Subnet{Prefix: netip.MustParsePrefix(s.CIDR)}
			if s.GatewayIP != "" {
				read.Gateway = netip.MustParseAddr(s.GatewayIP)
			}
			list = append(list, read)
		}
	}
	return list
}

func (w world) Attach(t *testing.T, owner backend.Owner) (user string, detach func()) {
	t.Helper()
	p, err := ports.Create(t.Context(), w.client, ports.CreateOpts{NetworkID: w.one(t, owner).ID, Name: "web-0"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("port web-0 (%s)", p.ID), func() {
		if err := ports.Delete(t.Context(), w.client, p.ID).ExtractErr(); err != nil && t.Context().Err() == nil {
			t.Fatal(err)
		}
	}
}

func (w world) Drift(t *testing.T, owner backend.Owner, gateway string) {
	t.Helper()
	s := w.part(t, owner)
	prefix := netip.MustParsePrefix(s.CIDR)
	address := netip.MustParseAddr(gateway)
	name := "renamed"
	err := subnets.Update(t.Context(), w.client, s.ID, subnets.UpdateOpts{Name: &name, GatewayIP: &gateway, AllocationPools: []subnets.AllocationPool{
		{Start: address.Next().String(), End: subnet.Last(prefix).Prev().String()},
	}}).Err
	if err != nil {
		t.Fatal(err)
	}
}

func (w world) Remove(t *testing.T, owner backend.Owner) {
	t.Helper()
	if err := networks.Delete(t.Context(), w.client, w.one(t, owner).ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

// Occupy occupies nothing: Neutron's names are not unique.
func (world) Occupy(*testing.T, backend.Owner) func() bool { return nil }
