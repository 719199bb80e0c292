package neutron

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/usher-dev/usher/network/subnet"
)

func TestPoolsLeaveOutWhatIsNotHandedOut(t *testing.T) {
	for name, test := range map[string]struct {
		cidr, gateway string
		want          []subnets.AllocationPool
	}{
		"the gateway at the start":      {"192.168.0.0/16", "192.168.0.1", []subnets.AllocationPool{{Start: "192.168.0.2", End: "192.168.255.254"}}},
		"the gateway in the middle":     {"192.168.1.0/16", "192.168.1.1", []subnets.AllocationPool{{Start: "192.168.0.1", End: "192.168.1.0"}, {Start: "192.168.1.2", End: "192.168.255.254"}}},
		"the gateway at the end":        {"10.0.0.0/24", "10.0.0.254", []subnets.AllocationPool{{Start: "10.0.0.1", End: "10.0.0.253"}}},
		"no gateway":                    {"10.0.0.0/24", "", []subnets.AllocationPool{{Start: "10.0.0.1", End: "10.0.0.254"}}},
		"the smallest range":            {"10.0.0.0/30", "10.0.0.1", []subnets.AllocationPool{{Start: "10.0.0.2", End: "10.0.0.2"}}},
		"IPv6, which has no broadcasts": {"fd00::/64", "fd00::1", []subnets.AllocationPool{{Start: "fd00::2", End: "fd00::ffff:ffff:ffff:ffff"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := subnet.Parse(test.cidr, test.gateway)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, pools(s)); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolsAreTheSameInAnyOrder(t *testing.T) {
	a, b := subnets.AllocationPool{Start: "10.0.0.1", End: "10.0.0.9"}, subnets.AllocationPool{Start: "10.0.0.11", End: "10.0.0.254"}
	if !samePools([]subnets.AllocationPool{b, a}, []subnets.AllocationPool{a, b}) {
		t.Error("not the same")
	}
	if samePools([]subnets.AllocationPool{a}, []subnets.AllocationPool{a, b}) {
		t.Error("the same without one")
	}
}
