package multus_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/vishvananda/netlink"

	"github.com/usher-dev/usher/controllers/network/backend"
	"github.com/usher-dev/usher/controllers/network/multus"
	"github.com/usher-dev/usher/network/subnet"
	"github.com/usher-dev/usher/test/cluster/components"
)

// pluginFolder builds the plugins on first use, and returns their folder.
var pluginFolder = sync.OnceValues(func() (string, error) {
	return components.Ensure(context.Background(), os.Stderr, "bridge", "host-local")
})

// A pod is what the plugins attach.
type pod struct {
	place
	id      string
	address netip.Addr
}

// attach attaches a new pod with the plugins by the definition in the API
// server, like Multus.
func (c *cluster) attach(t *testing.T, n *node, owner backend.Owner) *pod {
	t.Helper()
	p := &pod{place: newPlace(t), id: fmt.Sprintf("pod-%d", len(n.links(t)))}
	list, cni, rt := c.plugins(t, owner, p)
	n.run(t, func() error {
		answer, err := cni.AddNetworkList(context.WithoutCancel(t.Context()), list, rt)
		if err != nil {
			return err
		}
		result, err := types100.NewResultFromResult(answer)
		if err != nil {
			return err
		}
		if len(result.IPs) != 1 {
			return fmt.Errorf("the pod has the addresses %v, want one", result.IPs)
		}
		p.address, _ = netip.AddrFromSlice(result.IPs[0].Address.IP)
		p.address = p.address.Unmap()
		return nil
	})
	return p
}

// detach detaches a pod with the plugins.
func (c *cluster) detach(t *testing.T, n *node, owner backend.Owner, p *pod) {
	t.Helper()
	list, cni, rt := c.plugins(t, owner, p)
	n.run(t, func() error {
		return cni.DelNetworkList(context.WithoutCancel(t.Context()), list, rt)
	})
}

// plugins returns the definition's plugins, and the arguments that Multus
// passes about the pod.
func (c *cluster) plugins(t *testing.T, owner backend.Owner, p *pod) (*libcni.NetworkConfigList, *libcni.CNIConfig, *libcni.RuntimeConf) {
	t.Helper()
	text := c.definition(t, owner).Spec.Config
	plugin, err := libcni.NetworkPluginConfFromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, err := libcni.NetworkConfFromBytes(fmt.Appendf(nil, `{"cniVersion":%q,"name":%q,"plugins":[%s]}`, plugin.Network.CNIVersion, plugin.Network.Name, text))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := pluginFolder()
	if err != nil {
		t.Fatal(err)
	}
	cni := libcni.NewCNIConfigWithCacheDir([]string{folder}, filepath.Join(leases, "cache"), nil)
	return list, cni, &libcni.RuntimeConf{ContainerID: p.id, NetNS: p.path(), IfName: "net1"}
}

func TestThePluginsAttachPodsByTheDefinition(t *testing.T) {
	needsRoot(t)
	c := newCluster(t)
	tests := map[string]struct{ cidr, gateway, next string }{
		"the seed's range, with host bits": {"192.168.1.0/16", "192.168.1.1", "192.168.0.1"},
		"the smallest range of IPv4":       {"10.50.0.0/29", "10.50.0.1", "10.50.0.6"},
		"IPv6":                             {"fd00:50::/64", "fd00:50::1", "fd00:50::ff"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := subnet.Parse(tc.cidr, tc.gateway)
			if err != nil {
				t.Fatal(err)
			}
			n := newNode(t)
			owner := backend.Owner{Namespace: "default", Name: "plugins-" + s.Prefix.Addr().StringExpanded()[:1] + fmt.Sprint(s.Prefix.Bits()), UID: "u"}
			want := backend.Wanted{Owner: owner, Subnet: s}
			c.ensure(t, want)
			before := n.links(t)

			one, two := c.attach(t, n, owner), c.attach(t, n, owner)
			for _, p := range []*pod{one, two} {
				if !s.Prefix.Contains(p.address) || p.address == s.Gateway {
					t.Errorf("a pod has the address %s, of %s with the gateway %s", p.address, s.Prefix, s.Gateway)
				}
				if mtu := p.mtu(t); mtu != 1400 {
					t.Errorf("a pod's interface has an MTU of %d, want the option's 1400", mtu)
				}
			}
			reaches(t, one, two.address, s.Gateway)
			reaches(t, two, one.address, s.Gateway)

			want.Gateway = netip.MustParseAddr(tc.next)
			c.ensure(t, want)
			three := c.attach(t, n, owner)
			reaches(t, three, one.address, want.Gateway)

			bridge := multus.BridgeName(owner, s)
			if held := n.leases(t, bridge); len(held) != 3 {
				t.Errorf("leases on the node: %q, want one a pod", held)
			}
			for _, p := range []*pod{one, two, three} {
				c.detach(t, n, owner, p)
				c.detach(t, n, owner, p) // a runtime may call twice
			}
			// The plugin keeps a bridge for later pods.
			if after, want := n.links(t), slices.Concat(before, []string{bridge}); !slices.Equal(after, want) {
				t.Errorf("interfaces left on the node: %q, want %q", after, want)
			}
			if held := n.leases(t, bridge); len(held) != 0 {
				t.Errorf("leases left on the node: %q", held)
			}
		})
	}
}

// TestANetworkWithoutAGatewayConnectsOnlyPods expects no default route, and no
// address of the node in it.
func TestANetworkWithoutAGatewayConnectsOnlyPods(t *testing.T) {
	needsRoot(t)
	c, n := newCluster(t), newNode(t)
	s, err := subnet.Parse("10.51.0.0/24", "")
	if err != nil {
		t.Fatal(err)
	}
	owner := backend.Owner{Namespace: "default", Name: "plugins-alone", UID: "u"}
	c.ensure(t, backend.Wanted{Owner: owner, Subnet: s})
	one, two := c.attach(t, n, owner), c.attach(t, n, owner)
	reaches(t, one, two.address)
	n.run(t, func() error {
		addresses, err := net.InterfaceAddrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && s.Prefix.Contains(p.Addr()) {
				t.Errorf("the node has the address %s", a)
			}
		}
		return err
	})
	for _, p := range []*pod{one, two} {
		c.detach(t, n, owner, p)
	}
}

// ensure creates the network, once the backend's cache is up to date.
func (c *cluster) ensure(t *testing.T, want backend.Wanted) {
	t.Helper()
	until(t, func(ctx context.Context) (bool, error) {
		_, err := c.backend.Ensure(ctx, want)
		if err != nil && backend.ReasonOf(err) == backend.Conflict {
			return false, nil
		}
		return err == nil, err
	})
}

func reaches(t *testing.T, p *pod, addresses ...netip.Addr) {
	t.Helper()
	for _, a := range addresses {
		if err := p.ping(a); err != nil {
			t.Errorf("pod %s: %v", p.address, err)
		}
	}
}

// leases returns the addresses that host-local has allocated in a network.
func (n *node) leases(t *testing.T, network string) (addresses []string) {
	t.Helper()
	n.run(t, func() error {
		files, err := os.ReadDir(filepath.Join(leases, "networks", network))
		for _, f := range files {
			if _, err := netip.ParseAddr(f.Name()); err == nil {
				addresses = append(addresses, f.Name())
			}
		}
		return err
	})
	return addresses
}

func (p *pod) mtu(t *testing.T) (mtu int) {
	t.Helper()
	err := p.run(func() error {
		link, err := netlink.LinkByName("net1")
		if err != nil {
			return err
		}
		mtu = link.Attrs().MTU
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return mtu
}
