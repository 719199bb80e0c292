package ownnetwork

import (
	"context"
	"fmt"
	"net/netip"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/policies/subnet"
)

// allocate allocates a part of the pool for a holder, or finds the holder's. It
// finds none if every part is allocated.
func (c *Controller) allocate(ctx context.Context, holder types.NamespacedName, pool subnet.Pool) (subnet.Subnet, bool, error) {
	claims, err := c.claims(ctx, claimLabels)
	if err != nil {
		return subnet.Subnet{}, false, err
	}
	used, err := c.used(ctx)
	if err != nil {
		return subnet.Subnet{}, false, err
	}
	for _, claim := range claims {
		switch {
		case claim.holder != holder:
			used = append(used, claim.prefix)
		case pool.Has(claim.prefix): // by a controller that ended before it continued
			return withGateway(claim.prefix), true, nil
		default: // from an earlier pool
			if err := c.free(ctx, claim); err != nil {
				return subnet.Subnet{}, false, err
			}
		}
	}
	for i, taken := range pool.Taken(used) {
		if taken {
			continue
		}
		part := pool.Part(i)
		if mine, err := c.take(ctx, part.Prefix, holder); mine || err != nil {
			return part, mine, err
		}
	}
	return subnet.Subnet{}, false, nil
}

// take claims a range, and reports whether it belongs to the holder: another
// controller may have been faster, for this holder or another.
func (c *Controller) take(ctx context.Context, prefix netip.Prefix, holder types.NamespacedName) (bool, error) {
	err := c.client.Create(ctx, c.newLease(prefix, holder))
	if err == nil {
		return true, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("taking the range %s: %w", prefix, err)
	}
	return c.holds(ctx, prefix, holder)
}

// holds reports the current holder of a range.
func (c *Controller) holds(ctx context.Context, prefix netip.Prefix, holder types.NamespacedName) (bool, error) {
	lease := &coordinationv1.Lease{}
	if err := c.live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: claimName(prefix)}, lease); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	claim, ok := readClaim(lease)
	return ok && claim.holder == holder, nil
}

// used returns the ranges of all Networks, whoever created them.
func (c *Controller) used(ctx context.Context) ([]netip.Prefix, error) {
	var list samplecrdv1.NetworkList
	if err := c.client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the Networks: %w", err)
	}
	var used []netip.Prefix
	for _, n := range list.Items {
		for _, cidr := range []string{n.Spec.CIDR, n.Status.CIDR} { // a change may be pending
			if prefix, err := subnet.ParseCIDR(cidr); err == nil {
				used = append(used, prefix)
			}
		}
	}
	return used, nil
}

// withGateway returns a range with its first address as the gateway.
func withGateway(prefix netip.Prefix) subnet.Subnet {
	return subnet.Subnet{Prefix: prefix, Gateway: prefix.Addr().Next()}
}
