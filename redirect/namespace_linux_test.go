package redirect

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// needsRoot checks the preconditions of the tests. If root lacks a
// precondition, the test fails, so that machines that should run it do not skip
// it.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces and nftables need root; run the test as root")
	}
}

// A namespace is a network namespace for the duration of a test.
type namespace struct {
	handle netns.NsHandle
	links  *netlink.Handle
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	needsRoot(t)
	n := &namespace{}
	done := make(chan error)
	go func() {
		// The goroutine never unlocks the thread, which therefore ends with it, so
		// that no other part of the test runs in the namespace.
		runtime.LockOSThread()
		var err error
		n.handle, err = netns.New()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("making a network namespace, for which root needs CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() { n.handle.Close() })
	var err error
	if n.links, err = netlink.NewHandleAt(n.handle); err != nil {
		t.Fatalf("opening netlink in the namespace: %v", err)
	}
	t.Cleanup(n.links.Close)
	n.sysctl(t, "net/ipv6/conf/default/accept_dad", "0") // addresses are usable at once
	n.up(t, "lo")
	return n
}

// run runs f on a thread in the namespace, along with the sockets and processes
// that it opens.
func (n *namespace) run(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(n.handle); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func (n *namespace) up(t *testing.T, name string, addresses ...string) {
	t.Helper()
	link, err := n.links.LinkByName(name)
	if err != nil {
		t.Fatalf("link %s: %v", name, err)
	}
	for _, a := range addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.links.AddrAdd(link, addr); err != nil {
			t.Fatalf("address %s: %v", a, err)
		}
	}
	if err := n.links.LinkSetUp(link); err != nil {
		t.Fatalf("link %s up: %v", name, err)
	}
}

func (n *namespace) route(t *testing.T, network, gateway string) {
	t.Helper()
	dst, err := netlink.ParseIPNet(network)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.links.RouteAdd(&netlink.Route{Dst: dst, Gw: net.ParseIP(gateway)}); err != nil {
		t.Fatalf("route to %s: %v", network, err)
	}
}

func (n *namespace) sysctl(t *testing.T, name, value string) {
	t.Helper()
	n.run(t, func() error {
		return os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	})
}

// join connects two namespaces with a veth pair.
func join(t *testing.T, a *namespace, nameA string, b *namespace, nameB string) {
	t.Helper()
	if err := a.links.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: nameA}, PeerName: nameB, PeerNamespace: netlink.NsFd(b.handle),
	}); err != nil {
		t.Fatalf("joining two namespaces, for which the kernel needs veth: %v", err)
	}
}

// apply sets the rules in the namespace.
func (n *namespace) apply(t *testing.T, c Config) {
	t.Helper()
	n.run(t, func() error { return Apply(Plan(c)) })
}

// command runs the test binary in a role as the given user. It ends with the
// test, which closes its standard input.
func command(t *testing.T, partName string, uid, gid uint32) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(sharedBinary(t))
	cmd.Env = append(os.Environ(), part+"="+partName)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	return cmd
}

// sharedBinary copies the test binary to a folder where other users can run it:
// go test builds it in a folder that only root can enter.
func sharedBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redirect")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	path := filepath.Join(dir, "part")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, self); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// startProxy starts the proxy in the namespace and waits until it listens.
func (n *namespace) startProxy(t *testing.T, uid, gid uint32) {
	t.Helper()
	cmd := command(t, partProxy, uid, gid)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.run(t, cmd.Start)
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("proxy: %v\n%s", err, &complaint)
		}
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("proxy does not listen: %v", err)
	}
}
