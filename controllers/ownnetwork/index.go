package ownnetwork

import (
	"net/netip"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network/subnet"
)

// An index knows the ranges that are in use, so that an allocation lists
// nothing: those of claims, and those of Networks, whoever created them. It
// follows two informers, and may be behind. The API server decides: a claim is
// an object with the range's name, and only one can be created.
type index struct {
	mu sync.Mutex
	// claims are by the names of their Leases, and by holder.
	claims  map[string]claim
	holders map[types.NamespacedName][]string
	// networks are the ranges of each Network.
	networks map[types.NamespacedName][]netip.Prefix
	// pool is the pool that parts describes: how many claims and Networks overlap
	// each of its parts.
	pool  subnet.Pool
	parts []int
	// low is a part below which all are in use.
	low int
}

func newIndex() *index {
	return &index{claims: map[string]claim{}, holders: map[types.NamespacedName][]string{}, networks: map[types.NamespacedName][]netip.Prefix{}}
}

// reserve returns the lowest free part of the pool and records it for the
// holder, so that no other worker tries it. It finds none if every part is in
// use.
func (x *index) reserve(pool subnet.Pool, holder types.NamespacedName) (subnet.Subnet, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if pool != x.pool {
		x.divide(pool)
	}
	for ; x.low < len(x.parts); x.low++ {
		if x.parts[x.low] == 0 {
			part := pool.Part(x.low)
			x.put(claim{prefix: part.Prefix, holder: holder})
			return part, true
		}
	}
	return subnet.Subnet{}, false
}

// divide counts for the parts of another pool.
func (x *index) divide(pool subnet.Pool) {
	x.pool, x.parts, x.low = pool, make([]int, pool.Len()), 0
	for _, c := range x.claims {
		x.count(c.prefix, 1)
	}
	for _, ranges := range x.networks {
		for _, r := range ranges {
			x.count(r, 1)
		}
	}
}

// count records that a range is used once more, or once less.
func (x *index) count(r netip.Prefix, by int) {
	first, end := x.pool.Overlapping(r)
	for i := first; i < end; i++ {
		if x.parts[i] += by; x.parts[i] == 0 {
			x.low = min(x.low, i)
		}
	}
}

// hold records a claim as it was created or read.
func (x *index) hold(c claim) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(c)
}

func (x *index) put(c claim) {
	name := claimName(c.prefix)
	if before, known := x.claims[name]; known {
		if before.holder == c.holder {
			x.claims[name] = c
			return
		}
		x.remove(name)
	}
	x.claims[name] = c
	x.holders[c.holder] = append(x.holders[c.holder], name)
	x.count(c.prefix, 1)
}

// drop forgets the claim of a range that was deleted. A later claim of the range
// has another UID.
func (x *index) drop(prefix netip.Prefix, lease types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.claims[claimName(prefix)]; c.lease != nil && c.lease.UID == lease {
		x.remove(claimName(prefix))
	}
}

// release forgets that a holder has a range, whether it was reserved or claimed.
func (x *index) release(prefix netip.Prefix, holder types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.claims[claimName(prefix)].holder == holder {
		x.remove(claimName(prefix))
	}
}

func (x *index) remove(name string) {
	c, known := x.claims[name]
	if !known {
		return
	}
	delete(x.claims, name)
	left := slices.DeleteFunc(x.holders[c.holder], func(n string) bool { return n == name })
	if x.holders[c.holder] = left; len(left) == 0 {
		delete(x.holders, c.holder)
	}
	x.count(c.prefix, -1)
}

// of returns the claims of a holder.
func (x *index) of(holder types.NamespacedName) []claim {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []claim
	for _, name := range x.holders[holder] {
		found = append(found, x.claims[name])
	}
	return found
}

// use records the ranges of a Network; none if it is gone.
func (x *index) use(network types.NamespacedName, ranges []netip.Prefix) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.networks[network] {
		x.count(r, -1)
	}
	delete(x.networks, network)
	for _, r := range ranges {
		x.count(r, 1)
	}
	if len(ranges) > 0 {
		x.networks[network] = ranges
	}
}

// leases follows the informer of claims.
func (x *index) leases() toolscache.ResourceEventHandler {
	put := func(object any) {
		if l, ok := object.(*coordinationv1.Lease); ok {
			if c, ok := readClaim(l); ok {
				x.hold(c)
			}
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: put, UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if l, ok := last(object).(*coordinationv1.Lease); ok {
				if c, ok := readClaim(l); ok {
					x.drop(c.prefix, l.UID)
				}
			}
		},
	}
}

// networksOf follows the informer of Networks.
func (x *index) networksOf() toolscache.ResourceEventHandler {
	put := func(object any) {
		if n, ok := object.(*samplecrdv1.Network); ok {
			x.use(types.NamespacedName{Namespace: n.Namespace, Name: n.Name}, rangesOf(n))
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: put, UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if n, ok := last(object).(*samplecrdv1.Network); ok {
				x.use(types.NamespacedName{Namespace: n.Namespace, Name: n.Name}, nil)
			}
		},
	}
}

// last returns the last known state of a deleted object, whose deletion event
// may have been missed.
func last(object any) any {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		return missed.Obj
	}
	return object
}

// rangesOf returns the ranges of a Network: a change may be pending.
func rangesOf(n *samplecrdv1.Network) []netip.Prefix {
	var used []netip.Prefix
	for _, cidr := range []string{n.Spec.CIDR, n.Status.CIDR} {
		if prefix, err := subnet.ParseCIDR(cidr); err == nil && !slices.Contains(used, prefix) {
			used = append(used, prefix)
		}
	}
	return used
}
