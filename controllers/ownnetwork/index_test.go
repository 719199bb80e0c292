package ownnetwork

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network/subnet"
)

func poolOf(t *testing.T, cidr string, length int) subnet.Pool {
	t.Helper()
	pool, err := subnet.ParsePool(cidr, length)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// leaseOf returns the Lease of a claim as the API server has it.
func leaseOf(cidr, holder, uid string) *coordinationv1.Lease {
	lease := (&Controller{namespace: "usher-system"}).newLease(netip.MustParsePrefix(cidr), named(holder))
	lease.UID = types.UID(uid)
	return lease
}

func networkOf(name, cidr, status string) *samplecrdv1.Network {
	n := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: samplecrdv1.NetworkSpec{CIDR: cidr}}
	n.Status.CIDR = status
	return n
}

// TestIndex_ReservesTheLowestFreePart changes what is in use between two
// reservations.
func TestIndex_ReservesTheLowestFreePart(t *testing.T) {
	pool := poolOf(t, "10.128.0.0/21", 24) // eight parts
	free := func(want string) func(*testing.T, *index) {
		return func(t *testing.T, x *index) {
			t.Helper()
			part, found := x.reserve(pool, named("next"))
			got := ""
			if found {
				got = part.Prefix.String()
				x.release(part.Prefix, named("next"))
			}
			if got != want {
				t.Errorf("the lowest free part is %q, want %q", got, want)
			}
		}
	}
	on := func(happens func(*index)) func(*testing.T, *index) {
		return func(_ *testing.T, x *index) { happens(x) }
	}
	for name, steps := range map[string][]func(*testing.T, *index){
		"nothing in use": {free("10.128.0.0/24")},
		"claims": {
			on(func(x *index) { x.leases().OnAdd(leaseOf("10.128.0.0/24", "a", "1"), true) }), free("10.128.1.0/24"),
			on(func(x *index) { x.leases().OnAdd(leaseOf("10.128.2.0/24", "b", "2"), false) }), free("10.128.1.0/24"),
			on(func(x *index) { x.leases().OnDelete(leaseOf("10.128.0.0/24", "a", "1")) }), free("10.128.0.0/24"),
		},
		"a deletion that was missed": {
			on(func(x *index) { x.leases().OnAdd(leaseOf("10.128.0.0/24", "a", "1"), true) }),
			on(func(x *index) {
				x.leases().OnDelete(toolscache.DeletedFinalStateUnknown{Obj: leaseOf("10.128.0.0/24", "a", "1")})
			}), free("10.128.0.0/24"),
		},
		"the late deletion of an earlier claim of the range": {
			on(func(x *index) {
				x.hold(claim{prefix: netip.MustParsePrefix("10.128.0.0/24"), holder: named("b"), lease: leaseOf("10.128.0.0/24", "b", "2")})
			}),
			on(func(x *index) { x.leases().OnDelete(leaseOf("10.128.0.0/24", "a", "1")) }), free("10.128.1.0/24"),
		},
		"a Network of any size, and a change that is pending": {
			on(func(x *index) { x.networksOf().OnAdd(networkOf("n", "10.128.0.0/23", ""), true) }), free("10.128.2.0/24"),
			on(func(x *index) { x.networksOf().OnUpdate(nil, networkOf("n", "10.128.2.0/28", "10.128.0.0/23")) }), free("10.128.3.0/24"),
			on(func(x *index) { x.networksOf().OnUpdate(nil, networkOf("n", "10.128.2.0/28", "10.128.2.0/28")) }), free("10.128.0.0/24"),
			on(func(x *index) { x.networksOf().OnUpdate(nil, networkOf("n", "10.0.0.0/8", "")) }), free(""),
			on(func(x *index) { x.networksOf().OnDelete(networkOf("n", "10.0.0.0/8", "")) }), free("10.128.0.0/24"),
		},
		"a claim with its Network": {
			on(func(x *index) { x.leases().OnAdd(leaseOf("10.128.0.0/24", "a", "1"), true) }),
			on(func(x *index) { x.networksOf().OnAdd(networkOf("a", "10.128.0.0/24", "10.128.0.0/24"), true) }), free("10.128.1.0/24"),
			on(func(x *index) { x.leases().OnDelete(leaseOf("10.128.0.0/24", "a", "1")) }), free("10.128.1.0/24"),
			on(func(x *index) { x.networksOf().OnDelete(networkOf("a", "10.128.0.0/24", "")) }), free("10.128.0.0/24"),
		},
		"a claim of an earlier pool": {
			on(func(x *index) { x.leases().OnAdd(leaseOf("10.128.0.128/25", "a", "1"), true) }), free("10.128.1.0/24"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newIndex()
			for _, step := range steps {
				step(t, x)
			}
		})
	}
}

func TestIndex_KnowsTheClaimsOfAHolder(t *testing.T) {
	x := newIndex()
	pool := poolOf(t, "10.128.0.0/21", 24)
	first, _ := x.reserve(pool, named("a"))
	second, _ := x.reserve(pool, named("b"))
	if first == second {
		t.Fatalf("%s is reserved twice", first.Prefix)
	}
	x.leases().OnAdd(leaseOf("10.128.4.0/24", "a", "3"), false)
	prefixes := func(holder string) []string {
		var all []string
		for _, c := range x.of(named(holder)) {
			all = append(all, c.prefix.String())
		}
		return all
	}
	check := func(holder string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, prefixes(holder), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("claims of %s: -want +got:\n%s", holder, diff)
		}
	}
	check("a", "10.128.0.0/24", "10.128.4.0/24")
	check("b", "10.128.1.0/24")
	x.hold(claim{prefix: first.Prefix, holder: named("c")}) // another controller was faster
	check("a", "10.128.4.0/24")
	check("c", "10.128.0.0/24")
	x.release(first.Prefix, named("a")) // no longer its own
	check("c", "10.128.0.0/24")
	x.release(first.Prefix, named("c"))
	check("c")
}
