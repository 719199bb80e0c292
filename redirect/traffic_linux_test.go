package redirect

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"
)

const (
	proxyUID, proxyGID = 1337, 1338
	someUID, someGID   = 4242, 4243
)

// newPod connects a pod to the outside: the pod is .2, the outside is .1 and
// has networks of its own behind it. Outside and pod both serve.
func newPod(t *testing.T) (pod, outside *namespace) {
	t.Helper()
	pod, outside = newNamespace(t), newNamespace(t)
	join(t, pod, "eth0", outside, "pod0")
	pod.up(t, "eth0", "10.77.0.2/24", "fd77::2/64")
	outside.up(t, "pod0", "10.77.0.1/24", "fd77::1/64", "10.88.0.1/24", "fd88::1/64")
	pod.route(t, "0.0.0.0/0", "10.77.0.1")
	pod.route(t, "::/0", "fd77::1")
	pod.serve(t, 8080, 8081, 15020)
	outside.serve(t, 80, 5432)
	return pod, outside
}

var everything = Config{
	InboundPort: inboundPort, OutboundPort: outboundPort, ProxyUIDs: []uint32{proxyUID},
	ExcludeInbound: []PortRange{{15020, 15021}}, ExcludeOutbound: []PortRange{{5432, 5432}},
	ExcludeDestinations: []netip.Prefix{netip.MustParsePrefix("10.88.0.0/24"), netip.MustParsePrefix("fd88::/64")},
}

func TestTrafficGoesThroughTheProxy(t *testing.T) {
	pod, outside := newPod(t)
	pod.startProxy(t, proxyUID, someGID)
	pod.apply(t, everything)

	tests := map[string]struct {
		from *namespace
		to   string
		want string
	}{
		"inbound IPv4 reaches the application through the proxy": {
			outside, "10.77.0.2:8080", "inbound 10.77.0.2:8080, server 127.0.0.1:8080"},
		"inbound IPv6 reaches the application through the proxy": {
			outside, "[fd77::2]:8080", "inbound [fd77::2]:8080, server [::1]:8080"},
		"an excluded inbound port is reached directly, as the kubelet's probes do": {
			outside, "10.77.0.2:15020", "server 10.77.0.2:15020"},
		"an excluded inbound port is reached directly over IPv6": {
			outside, "[fd77::2]:15020", "server [fd77::2]:15020"},
		"outbound IPv4 goes through the proxy, which knows where to": {
			pod, "10.77.0.1:80", "outbound 10.77.0.1:80, server 10.77.0.1:80"},
		"outbound IPv6 goes through the proxy, which knows where to": {
			pod, "[fd77::1]:80", "outbound [fd77::1]:80, server [fd77::1]:80"},
		"an excluded outbound port goes directly": {
			pod, "10.77.0.1:5432", "server 10.77.0.1:5432"},
		"an excluded outbound port goes directly over IPv6": {
			pod, "[fd77::1]:5432", "server [fd77::1]:5432"},
		"a excluded destination goes directly": {
			pod, "10.88.0.1:80", "server 10.88.0.1:80"},
		"a excluded destination goes directly over IPv6": {
			pod, "[fd88::1]:80", "server [fd88::1]:80"},
		"the application calls its own localhost directly": {
			pod, "127.0.0.1:8080", "server 127.0.0.1:8080"},
		"the application calls its own localhost directly over IPv6": {
			pod, "[::1]:8080", "server [::1]:8080"},
		"the application calls its pod's address directly": {
			pod, "10.77.0.2:8080", "server 10.77.0.2:8080"},
		"the application calls its pod's address directly over IPv6": {
			pod, "[fd77::2]:8080", "server [fd77::2]:8080"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.from.ask(t, tc.to); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestProxyIsKnownByItsGroup(t *testing.T) {
	pod, _ := newPod(t)
	pod.startProxy(t, someUID, proxyGID)
	pod.apply(t, Config{OutboundPort: outboundPort, ProxyGIDs: []uint32{proxyGID}})
	want := "outbound 10.77.0.1:80, server 10.77.0.1:80"
	if got := pod.ask(t, "10.77.0.1:80"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyOneDirection(t *testing.T) {
	tests := map[string]struct {
		config            Config
		inbound, outbound string
	}{
		"inbound": {
			Config{InboundPort: inboundPort},
			"inbound 10.77.0.2:8080, server 127.0.0.1:8080", "server 10.77.0.1:80"},
		"outbound": {
			Config{OutboundPort: outboundPort, ProxyUIDs: []uint32{proxyUID}},
			"server 10.77.0.2:8080", "outbound 10.77.0.1:80, server 10.77.0.1:80"},
		"inbound to chosen ports": {
			Config{InboundPort: inboundPort, IncludeInbound: []PortRange{{8081, 8082}}},
			"server 10.77.0.2:8080", "server 10.77.0.1:80"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod, outside := newPod(t)
			pod.startProxy(t, proxyUID, someGID)
			pod.apply(t, tc.config)
			if got := outside.ask(t, "10.77.0.2:8080"); got != tc.inbound {
				t.Errorf("inbound got %q, want %q", got, tc.inbound)
			}
			if got := pod.ask(t, "10.77.0.1:80"); got != tc.outbound {
				t.Errorf("outbound got %q, want %q", got, tc.outbound)
			}
			if len(tc.config.IncludeInbound) > 0 {
				want := "inbound 10.77.0.2:8081, server 127.0.0.1:8081"
				if got := outside.ask(t, "10.77.0.2:8081"); got != want {
					t.Errorf("chosen port got %q, want %q", got, want)
				}
			}
		})
	}
}

func TestUDPIsLeftAlone(t *testing.T) {
	pod, outside := newPod(t)
	pod.apply(t, everything)
	for _, address := range []string{"10.77.0.1:53", "[fd77::1]:53"} {
		var server net.PacketConn
		outside.run(t, func() (err error) {
			server, err = net.ListenPacket("udp", address)
			return err
		})
		defer server.Close()
		go func() {
			query := make([]byte, 64)
			if n, from, err := server.ReadFrom(query); err == nil {
				_, _ = server.WriteTo(query[:n], from)
			}
		}()
		var answer [64]byte
		var n int
		pod.run(t, func() error {
			conn, err := net.Dial("udp", address)
			if err != nil {
				return err
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
				return err
			}
			if _, err := conn.Write([]byte("query")); err != nil {
				return err
			}
			n, err = conn.Read(answer[:])
			return err
		})
		if got := string(answer[:n]); got != "query" {
			t.Errorf("%s answered %q", address, got)
		}
	}
}

func TestForwardedTrafficIsLeftAlone(t *testing.T) {
	pod, outside := newPod(t)
	inner := newNamespace(t)
	join(t, pod, "inner0", inner, "eth0")
	pod.up(t, "inner0", "10.99.0.1/24", "fd99::1/64")
	inner.up(t, "eth0", "10.99.0.2/24", "fd99::2/64")
	inner.route(t, "0.0.0.0/0", "10.99.0.1")
	inner.route(t, "::/0", "fd99::1")
	outside.route(t, "10.99.0.0/24", "10.77.0.2")
	outside.route(t, "fd99::/64", "fd77::2")
	pod.sysctl(t, "net/ipv4/ip_forward", "1")
	pod.sysctl(t, "net/ipv6/conf/all/forwarding", "1")
	inner.serve(t, 8080)
	pod.apply(t, everything)

	tests := []struct {
		from *namespace
		to   string
	}{
		{outside, "10.99.0.2:8080"}, {outside, "[fd99::2]:8080"},
		{inner, "10.77.0.1:80"}, {inner, "[fd77::1]:80"},
	}
	for _, tc := range tests {
		if got, want := tc.from.ask(t, tc.to), "server "+tc.to; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOpenConnectionsStayOpen(t *testing.T) {
	pod, outside := newPod(t)
	pod.startProxy(t, proxyUID, someGID)
	type open struct {
		what string
		conn *net.TCPConn
		in   *bufio.Reader
	}
	var opened []open
	connect := func(what string, from *namespace, to string) {
		conn := from.dial(t, to)
		opened = append(opened, open{what, conn, bufio.NewReader(conn)})
	}
	connect("inbound from before the rules", outside, "10.77.0.2:8080")
	connect("outbound from before the rules", pod, "10.77.0.1:80")
	connect("outbound IPv6 from before the rules", pod, "[fd77::1]:80")
	pod.apply(t, everything)
	connect("inbound by the first rules", outside, "10.77.0.2:8080")
	connect("outbound by the first rules", pod, "10.77.0.1:80")
	pod.apply(t, everything)

	for _, o := range opened {
		if _, err := fmt.Fprintln(o.conn, "still here"); err != nil {
			t.Errorf("%s: %v", o.what, err)
			continue
		}
		for {
			line, err := o.in.ReadString('\n')
			if err != nil {
				t.Errorf("%s: %v", o.what, err)
				break
			}
			if line == "still here\n" {
				break
			}
		}
	}
}

func TestPodWithoutIPv6(t *testing.T) {
	pod, outside := newNamespace(t), newNamespace(t)
	pod.sysctl(t, "net/ipv6/conf/all/disable_ipv6", "1")
	pod.sysctl(t, "net/ipv6/conf/default/disable_ipv6", "1")
	join(t, pod, "eth0", outside, "pod0")
	pod.up(t, "eth0", "10.77.0.2/24")
	outside.up(t, "pod0", "10.77.0.1/24")
	pod.serve(t, 8080)
	outside.serve(t, 80)
	pod.startProxy(t, proxyUID, someGID)
	pod.apply(t, everything)
	if got, want := outside.ask(t, "10.77.0.2:8080"), "inbound 10.77.0.2:8080, server 127.0.0.1:8080"; got != want {
		t.Errorf("inbound got %q, want %q", got, want)
	}
	if got, want := pod.ask(t, "10.77.0.1:80"), "outbound 10.77.0.1:80, server 10.77.0.1:80"; got != want {
		t.Errorf("outbound got %q, want %q", got, want)
	}
}

func TestRemoveRestores(t *testing.T) {
	pod, outside := newPod(t)
	pod.startProxy(t, proxyUID, someGID)
	pod.apply(t, everything)
	pod.run(t, func() error {
		_, err := Remove()
		return err
	})
	if got, want := outside.ask(t, "10.77.0.2:8080"), "server 10.77.0.2:8080"; got != want {
		t.Errorf("inbound got %q, want %q", got, want)
	}
	if got, want := pod.ask(t, "10.77.0.1:80"), "server 10.77.0.1:80"; got != want {
		t.Errorf("outbound got %q, want %q", got, want)
	}
}
