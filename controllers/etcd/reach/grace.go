package reach

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/usher-dev/usher/finding/release"
)

// A Grace lets an object go on to use a store that it used in a release without
// Stores. It is for private addresses and for those in the cluster, never for
// the API server, loopback and link-local addresses.
type Grace struct {
	// Given is true if the object's store worked in such a release.
	Given bool
	// Addresses are the only ones to which the store may lead, because it led to
	// them when the grace was first used. Without any it was not used yet.
	Addresses []string
}

// A Use is what a Route was used for.
type Use struct {
	// Allowed is true for a connection to an address that every object may use,
	// Listed for one to a destination that the administrator lists.
	Allowed, Listed bool
	// Graced are the addresses of a Grace that was used.
	Graced []string
	// Refused is why a connection was refused, or nil.
	Refused *Refused
}

// Use returns what the route was used for.
func (r *Route) Use() Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// ends is the release that no longer gives a Grace.
var ends = release.V(0, 3)

// Gives reports whether a release, such as v0.2.0, gives a Grace.
func Gives(version string) bool { return !release.Minor(version).Includes(ends) }

// maxPinned limits the addresses of a Grace.
const maxPinned = 16

// grace reports whether a host may be used by grace, which leads to these
// addresses. The first use pins them and those that the name has then: whoever
// owns the name, or may write the Endpoints of a Service, could lead the
// controller elsewhere later.
func (r *Route) grace(ctx context.Context, host string, to []netip.Addr) bool {
	if !r.graced.Given || !Gives(release.Next) {
		return false
	}
	if r.pinned.Len() == 0 {
		if !slices.ContainsFunc(to, func(a netip.Addr) bool { return !r.mayHold(a) }) {
			r.pinned.Insert(to...)
		}
		if all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host); err == nil {
			for _, other := range all {
				if r.pinned.Len() < maxPinned && spanOf(other) != nil && r.mayHold(other) {
					r.pinned.Insert(plain(other))
				}
			}
		}
	}
	if !r.pinned.HasAll(to...) {
		return false
	}
	r.used.Graced = nil
	for pinned := range r.pinned {
		r.used.Graced = append(r.used.Graced, pinned.String())
	}
	slices.Sort(r.used.Graced)
	return true
}

// mayHold reports whether the store of an earlier release may have the address.
func (r *Route) mayHold(a netip.Addr) bool {
	is := spanOf(a)
	return a.IsValid() && !r.isAPIServer(a) && (is == nil || is.mayHold)
}
