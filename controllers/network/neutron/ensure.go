package neutron

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// Ensure brings the owner's network to the desired state.
func (b *Backend) Ensure(ctx context.Context, want backend.Wanted) (*backend.Made, error) {
	if err := b.marks.check(want.Owner); err != nil {
		return nil, err
	}
	c, err := b.session.client(ctx)
	if err != nil {
		return nil, err
	}
	network, created, err := b.ensureNetwork(ctx, c, want.Owner)
	if err != nil {
		return nil, err
	}
	var on occupancy // a new network has none
	if !created {
		if on, err = b.occupancyOf(ctx, c, *network); err != nil {
			return nil, err
		}
	}
	renamed, err := b.rename(ctx, c, network, want.Owner)
	if err != nil {
		return nil, err
	}
	s, change, err := b.ensureSubnet(ctx, c, *network, on, want)
	if err != nil {
		return nil, err
	}
	m, err := made(want.Owner, *network, s)
	if err != nil {
		return nil, err
	}
	m.Users = on.users
	switch {
	case created:
		m.Change = backend.Created
	case change == backend.Unchanged && renamed:
		m.Change = backend.Updated
	default:
		m.Change = change
	}
	return m, nil
}

// ensureNetwork finds the owner's network, or creates it.
func (b *Backend) ensureNetwork(ctx context.Context, c *connection, owner backend.Owner) (n *networks.Network, created bool, err error) {
	found, err := b.networksOf(ctx, c, owner)
	if err != nil {
		return nil, false, err
	}
	switch len(found) {
	case 0:
		if err := b.lost.settled(owner); err != nil {
			return nil, false, err
		}
		n, err := b.createNetwork(ctx, c, owner)
		return n, err == nil, err
	case 1:
		b.lost.answered(owner)
		return &found[0], false, nil
	default:
		b.lost.answered(owner)
		return nil, false, backend.Errorf(backend.Foreign, "Neutron has %d networks whose description is %q (%s): delete all but the one to keep, or remove their descriptions",
			len(found), b.marks.network(owner), ids(found))
	}
}

// createNetwork creates the network. Neutron allows a concurrent request to
// create another one with the same mark; the client that sees both deletes its
// own, which is still unused.
func (b *Backend) createNetwork(ctx context.Context, c *connection, owner backend.Owner) (*networks.Network, error) {
	b.lost.asked(owner)
	n, err := networks.Create(ctx, c.ServiceClient, networks.CreateOpts{Name: nameOf(owner), Description: b.marks.network(owner)}).Extract()
	if err != nil {
		if !unanswered(err) {
			b.lost.answered(owner)
		}
		return nil, b.failed(c, "making the network", err)
	}
	b.lost.answered(owner)
	found, err := b.networksOf(ctx, c, owner)
	if err != nil {
		return nil, err
	}
	if len(found) <= 1 {
		return n, nil
	}
	if err := networks.Delete(ctx, c.ServiceClient, n.ID).ExtractErr(); err != nil {
		return nil, b.failed(c, "deleting network "+n.ID+", a duplicate", err)
	}
	return nil, backend.Errorf(backend.Conflict, "another network was created for %s at the same time, so usher deletes network %s", owner, n.ID)
}

// rename sets the network's name to that of its owner.
func (b *Backend) rename(ctx context.Context, c *connection, n *networks.Network, owner backend.Owner) (renamed bool, err error) {
	name := nameOf(owner)
	if n.Name == name {
		return false, nil
	}
	renamedTo, err := networks.Update(ctx, c.ServiceClient, n.ID, networks.UpdateOpts{Name: &name, RevisionNumber: &n.RevisionNumber}).Extract()
	if err != nil {
		return false, b.failed(c, fmt.Sprintf("renaming network %s from %q to %q", n.ID, n.Name, name), err)
	}
	*n = *renamedTo
	return true, nil
}
