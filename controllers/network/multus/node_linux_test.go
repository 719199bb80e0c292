package multus_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the plugins make bridges in network namespaces, which needs root; run the test as root")
	}
}

// A node is a thread with a network namespace and leases of its own, as the
// plugins find them on a node of the cluster.
type node struct {
	work chan func()
}

// leases is host-local's folder for them.
const leases = "/var/lib/cni"

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{work: make(chan func())}
	ready := make(chan error)
	if err := os.MkdirAll(leases, 0o755); err != nil {
		t.Fatal(err)
	}
	go func() {
		// The goroutine never unlocks the thread, which therefore ends with it.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS)
		if err == nil {
			err = errors.Join(
				unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
				unix.Mount("tmpfs", leases, "tmpfs", 0, ""))
		}
		ready <- err
		for f := range n.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatalf("making a node, for which root needs CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() { close(n.work) })
	n.run(t, func() error { return up("lo") })
	return n
}

// run runs f on the node, along with the processes that it starts.
func (n *node) run(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	n.work <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// links returns the names of the node's network interfaces.
func (n *node) links(t *testing.T) (names []string) {
	t.Helper()
	n.run(t, func() error {
		all, err := netlink.LinkList()
		for _, l := range all {
			names = append(names, l.Attrs().Name)
		}
		return err
	})
	return names
}

// A place is the network namespace of a pod.
type place struct{ handle netns.NsHandle }

func newPlace(t *testing.T) place {
	t.Helper()
	var p place
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		var err error
		p.handle, err = netns.New()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.handle.Close() })
	return p
}

// path is the path of the namespace for the plugins.
func (p place) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), int(p.handle)) }

// run runs f in the namespace.
func (p place) run(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		if err := netns.Set(p.handle); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// ping pings until there is an answer, or patience ends: addresses of IPv6 are
// tentative at first.
func (p place) ping(to netip.Addr) error {
	network, address, protocol, kind := "ip4:icmp", "0.0.0.0", 1, icmp.Type(ipv4.ICMPTypeEcho)
	answer := icmp.Type(ipv4.ICMPTypeEchoReply)
	if to.Is6() {
		network, address, protocol, kind, answer = "ip6:ipv6-icmp", "::", 58, ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
	}
	return p.run(func() error {
		conn, err := icmp.ListenPacket(network, address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		text, err := (&icmp.Message{Type: kind, Body: &icmp.Echo{ID: os.Getpid() & 0xffff, Seq: 1}}).Marshal(nil)
		if err != nil {
			return err
		}
		buffer := make([]byte, 1500)
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if _, err := conn.WriteTo(text, &net.IPAddr{IP: to.AsSlice()}); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) && !errors.Is(err, unix.ENETUNREACH) {
				return fmt.Errorf("to %s: %w", to, err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
				return err
			}
			for {
				size, from, err := conn.ReadFrom(buffer)
				if err != nil {
					break // no answer yet
				}
				m, err := icmp.ParseMessage(protocol, buffer[:size])
				if err == nil && m.Type == answer && from.String() == to.String() {
					return nil
				}
			}
		}
		return fmt.Errorf("%s does not answer", to)
	})
}
