package neutron

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/controllers/network/backend"
)

// Delete removes the owner's network, with its subnet.
func (b *Backend) Delete(ctx context.Context, owner backend.Owner) error {
	c, err := b.session.client(ctx)
	if err != nil {
		return err
	}
	found, err := b.networksOf(ctx, c, owner)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return b.lost.settled(owner)
	}
	b.lost.answered(owner)
	var users []string
	for _, n := range found {
		on, err := b.occupancyOf(ctx, c, n)
		if err != nil {
			return err
		}
		users = append(users, on.users...)
	}
	if len(users) > 0 {
		slices.Sort(users)
		return backend.Used("deleting the network", users)
	}
	for _, n := range found {
		err := networks.Delete(ctx, c.ServiceClient, n.ID).ExtractErr()
		if err != nil && !gophercloud.ResponseCodeIs(err, 404) {
			return b.used(ctx, c, n, "deleting the network", b.failed(c, "deleting network "+n.ID, err))
		}
	}
	return nil
}

// List returns the objects with the marks of this cluster.
func (b *Backend) List(ctx context.Context) ([]backend.Made, error) {
	c, err := b.session.client(ctx)
	if err != nil {
		return nil, err
	}
	all, err := b.networks(ctx, c, networks.ListOpts{})
	if err != nil {
		return nil, err
	}
	parts, err := b.subnets(ctx, c, "")
	if err != nil {
		return nil, err
	}
	var list []backend.Made
	for _, n := range all {
		owner, ours := b.marks.owner(n.Description)
		if !ours {
			continue
		}
		var has *subnets.Subnet
		for _, s := range parts {
			if uid, ours := b.marks.uid(s.Description); ours && s.NetworkID == n.ID {
				owner.UID, has = uid, &s
			}
		}
		m, err := made(owner, n, has)
		if err != nil {
			return nil, err
		}
		list = append(list, *m)
	}
	return list, nil
}
