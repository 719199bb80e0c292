package subnet

import (
	"fmt"
	"net/netip"
)

// A ClusterRange is a range of addresses that the cluster itself uses.
type ClusterRange struct {
	Prefix netip.Prefix
	// Of names what uses it, such as "the Services (ServiceCIDR kubernetes)".
	Of string
	// Services is true if Services have its addresses.
	Services bool
}

// String formats the range for a message.
func (r ClusterRange) String() string { return fmt.Sprintf("%s, %s", r.Prefix, r.Of) }

// Colliding returns the ranges that have addresses in common with a prefix.
func Colliding(prefix netip.Prefix, ranges []ClusterRange) []ClusterRange {
	var found []ClusterRange
	for _, r := range ranges {
		if r.Prefix.Overlaps(prefix) {
			found = append(found, r)
		}
	}
	return found
}
