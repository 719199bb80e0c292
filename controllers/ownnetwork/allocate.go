package ownnetwork

import (
	"context"
	"fmt"
	"net/netip"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/network/subnet"
)

// allocate allocates a part of the pool for a holder, or finds the holder's. It
// finds none if every part is in use. It lists nothing: the index may be behind,
// but then the API server refuses the claim, and allocate tries the next part.
func (c *Controller) allocate(ctx context.Context, holder types.NamespacedName, pool subnet.Pool) (subnet.Subnet, bool, error) {
	for _, claim := range c.index.of(holder) {
		if pool.Has(claim.prefix) { // by a controller that ended before it continued
			return withGateway(claim.prefix), true, nil
		}
		if err := c.free(ctx, claim); err != nil { // from an earlier pool
			return subnet.Subnet{}, false, err
		}
	}
	for {
		part, found := c.index.reserve(pool, holder)
		if !found {
			return subnet.Subnet{}, false, nil
		}
		if mine, err := c.take(ctx, part.Prefix, holder); mine || err != nil {
			return part, mine, err
		}
	}
}

// take claims a range, and reports whether it belongs to the holder: another
// controller may have been faster, for this holder or another.
func (c *Controller) take(ctx context.Context, prefix netip.Prefix, holder types.NamespacedName) (bool, error) {
	lease := c.newLease(prefix, holder)
	err := c.client.Create(ctx, lease)
	if err == nil {
		c.index.hold(claim{prefix: prefix, holder: holder, lease: lease})
		return true, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		c.index.release(prefix, holder)
		return false, fmt.Errorf("taking the range %s: %w", prefix, err)
	}
	return c.holds(ctx, prefix, holder)
}

// holds reports the current holder of a range, and corrects the index.
func (c *Controller) holds(ctx context.Context, prefix netip.Prefix, holder types.NamespacedName) (bool, error) {
	lease := &coordinationv1.Lease{}
	err := c.live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: claimName(prefix)}, lease)
	if err != nil {
		c.index.release(prefix, holder)
		return false, client.IgnoreNotFound(err)
	}
	is, ok := readClaim(lease)
	if !ok {
		is = claim{prefix: prefix, lease: lease} // of nobody known, but in use
	}
	c.index.hold(is)
	return ok && is.holder == holder, nil
}

// withGateway returns a range with its first address as the gateway.
func withGateway(prefix netip.Prefix) subnet.Subnet {
	return subnet.Subnet{Prefix: prefix, Gateway: prefix.Addr().Next()}
}
