package neutron

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/network/subnet"
)

// pools returns the allocation pools that Neutron selects for a new subnet: all
// addresses except the first, the gateway and IPv4's broadcast address. Neutron
// does not update them when the gateway changes.
func pools(s subnet.Subnet) []subnets.AllocationPool {
	first, last := s.Prefix.Addr().Next(), subnet.Last(s.Prefix)
	if last.Is4() {
		last = last.Prev()
	}
	if !s.Gateway.IsValid() {
		return pool(nil, first, last)
	}
	return pool(pool(nil, first, s.Gateway.Prev()), s.Gateway.Next(), last)
}

// pool appends the pool between two addresses, unless it is empty.
func pool(all []subnets.AllocationPool, first, last netip.Addr) []subnets.AllocationPool {
	if last.Less(first) {
		return all
	}
	return append(all, subnets.AllocationPool{Start: first.String(), End: last.String()})
}

// samePools compares pools as Neutron returns them, in any order.
func samePools(is, want []subnets.AllocationPool) bool {
	order := func(a, b subnets.AllocationPool) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	}
	is, want = slices.Clone(is), slices.Clone(want)
	slices.SortFunc(is, order)
	slices.SortFunc(want, order)
	return slices.Equal(is, want)
}
