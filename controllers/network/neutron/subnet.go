package neutron

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// ensureSubnet finds the network's subnet and updates it, creates it, or
// replaces it: Neutron cannot change the range of a subnet.
func (b *Backend) ensureSubnet(ctx context.Context, c *connection, n networks.Network, on occupancy, want backend.Wanted) (*subnets.Subnet, backend.Change, error) {
	is, outdated, err := b.sort(on.subnets, want)
	if err != nil {
		return nil, "", err
	}
	change := backend.Unchanged
	if len(outdated) > 0 {
		if err := b.clear(ctx, c, n, on.users, outdated, want); err != nil {
			return nil, "", err
		}
		change = backend.Replaced
	}
	if is == nil {
		s, err := b.createSubnet(ctx, c, n, want)
		if change == backend.Unchanged {
			change = backend.Updated
		}
		return s, change, err
	}
	s, repaired, err := b.repair(ctx, c, n, *is, want)
	if repaired && change == backend.Unchanged {
		change = backend.Updated
	}
	return s, change, err
}

// sort separates the subnet with the desired range from those with other
// ranges, all of them the backend's own. Subnets of others must not overlap the
// range.
func (b *Backend) sort(all []subnets.Subnet, want backend.Wanted) (is *subnets.Subnet, outdated []subnets.Subnet, err error) {
	for _, s := range all {
		has, err := addresses(s)
		if err != nil {
			return nil, nil, err
		}
		_, ours := b.marks.uid(s.Description)
		switch {
		case ours && has.Prefix == want.Prefix:
			is = &s
		case ours:
			outdated = append(outdated, s)
		case has.Prefix.Overlaps(want.Prefix):
			return nil, nil, backend.Errorf(backend.Foreign, "%s on network %s has the range %s and was not created for %s: delete it, or choose another range than %s",
				described("subnet", s.Name, s.ID), s.NetworkID, has.Prefix, want.Owner, want.Prefix)
		}
	}
	return is, outdated, nil
}

// clear deletes subnets with other ranges, if the network is not in use.
func (b *Backend) clear(ctx context.Context, c *connection, n networks.Network, users []string, outdated []subnets.Subnet, want backend.Wanted) error {
	doing := fmt.Sprintf("replacing %s with %s", outdated[0].CIDR, want.Prefix)
	if len(users) > 0 {
		return backend.Used(doing, users)
	}
	for _, s := range outdated {
		err := subnets.Delete(ctx, c.ServiceClient, s.ID).ExtractErr()
		if err != nil && !gophercloud.ResponseCodeIs(err, 404) {
			return b.used(ctx, c, n, doing, b.failed(c, fmt.Sprintf("deleting subnet %s (%s)", s.ID, s.CIDR), err))
		}
	}
	return nil
}

func (b *Backend) createSubnet(ctx context.Context, c *connection, n networks.Network, want backend.Wanted) (*subnets.Subnet, error) {
	gateway := want.GatewayText() // "" means none, and not Neutron's default
	s, err := subnets.Create(ctx, c.ServiceClient, subnets.CreateOpts{
		NetworkID:       n.ID,
		Name:            nameOf(want.Owner),
		Description:     b.marks.subnet(want.Owner),
		CIDR:            want.Prefix.String(),
		IPVersion:       version(want.Prefix),
		GatewayIP:       &gateway,
		AllocationPools: pools(want.Subnet),
	}).Extract()
	if err != nil {
		return nil, b.overtaken(ctx, c, n, want, b.failed(c, fmt.Sprintf("making the subnet %s on network %s", want.Prefix, n.ID), err))
	}
	return s, nil
}

// overtaken distinguishes an invalid request from one for a second subnet of
// the range, if the first comes from a request whose response was lost: Neutron
// calls both invalid.
func (b *Backend) overtaken(ctx context.Context, c *connection, n networks.Network, want backend.Wanted, refusal error) error {
	if backend.ReasonOf(refusal) != backend.Invalid {
		return refusal
	}
	all, err := b.subnets(ctx, c, n.ID)
	if err != nil {
		return err
	}
	for _, s := range all {
		if has, err := addresses(s); err == nil && has.Prefix.Overlaps(want.Prefix) {
			return backend.Errorf(backend.Conflict, "%w, and in the meantime subnet %s has it", refusal, s.ID)
		}
	}
	return refusal
}

// repair updates the other settings of a subnet with the desired range.
func (b *Backend) repair(ctx context.Context, c *connection, n networks.Network, is subnets.Subnet, want backend.Wanted) (*subnets.Subnet, bool, error) {
	opts, differs := difference(is, want, nameOf(want.Owner), b.marks.subnet(want.Owner))
	if !differs {
		return &is, false, nil
	}
	opts.RevisionNumber = &is.RevisionNumber
	s, err := subnets.Update(ctx, c.ServiceClient, is.ID, opts).Extract()
	if err != nil {
		doing := fmt.Sprintf("changing the gateway of subnet %s from %s to %s", is.ID, orNone(is.GatewayIP), orNone(want.GatewayText()))
		return nil, false, b.used(ctx, c, n, doing, b.failed(c, "changing subnet "+is.ID, err))
	}
	return s, true, nil
}

// difference returns the change that brings a subnet to the desired state.
func difference(is subnets.Subnet, want backend.Wanted, name, mark string) (opts subnets.UpdateOpts, differs bool) {
	if is.Name != name {
		opts.Name, differs = &name, true
	}
	if is.Description != mark {
		opts.Description, differs = &mark, true
	}
	// Neutron refuses a gateway inside a pool, so both change together. It formats
	// both like netip.
	if gateway, pools := want.GatewayText(), pools(want.Subnet); is.GatewayIP != gateway || !samePools(is.AllocationPools, pools) {
		opts.GatewayIP, opts.AllocationPools, differs = &gateway, pools, true
	}
	return opts, differs
}

// used adds the users of a network to an error that they caused.
func (b *Backend) used(ctx context.Context, c *connection, n networks.Network, doing string, err error) error {
	if backend.ReasonOf(err) != backend.InUse {
		return err
	}
	on, listErr := b.occupancyOf(ctx, c, n)
	if listErr != nil {
		return listErr
	}
	if len(on.users) == 0 {
		// This project cannot see those of other projects.
		return err
	}
	return backend.Used(doing, on.users)
}

func version(prefix netip.Prefix) gophercloud.IPVersion {
	if prefix.Addr().Is4() {
		return gophercloud.IPv4
	}
	return gophercloud.IPv6
}

func orNone(address string) string {
	if address == "" {
		return "none"
	}
	return address
}
