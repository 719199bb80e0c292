package redirect

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The proxy's ports.
const (
	inboundPort  = 15006
	outboundPort = 15001
)

// maxConnections is when a proxy that calls itself gives up.
const maxConnections = 100

// dialTimeout is for connections; they stay on the machine, so they are quick.
const dialTimeout = 3 * time.Second

// runProxy is a proxy like Envoy: it listens on both ports, reads the original
// destination, reports it to the client, connects and relays.
func runProxy() {
	var connections atomic.Int32
	for port, side := range map[int]string{inboundPort: "inbound", outboundPort: "outbound"} {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go accept(listener, func(conn *net.TCPConn) {
			if connections.Add(1) > maxConnections {
				fmt.Fprintln(os.Stderr, "the proxy calls itself")
				os.Exit(1)
			}
			relay(conn, side)
		})
	}
	fmt.Println("listening")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

func relay(client *net.TCPConn, side string) {
	meant, err := originalDestination(client)
	if err != nil {
		fmt.Fprintf(client, "%s: %v\n", side, err)
		return
	}
	fmt.Fprintf(client, "%s %s\n", side, meant)
	to := meant
	if side == "inbound" {
		loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if meant.Addr().Is6() {
			loopback = netip.IPv6Loopback()
		}
		to = netip.AddrPortFrom(loopback, meant.Port())
	}
	server, err := net.DialTimeout("tcp", to.String(), dialTimeout)
	if err != nil {
		fmt.Fprintln(client, err)
		return
	}
	defer server.Close()
	// Either side may close the connection; the other side is closed, too, and the
	// test sees what arrived.
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}

// originalDestination asks the kernel for the original destination of a
// redirected connection.
func originalDestination(conn *net.TCPConn) (netip.AddrPort, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	const soOriginalDst = 80
	var addr unix.RawSockaddrInet6 // large enough for both
	size := uint32(unsafe.Sizeof(addr))
	level := unix.SOL_IPV6
	if conn.RemoteAddr().(*net.TCPAddr).IP.To4() != nil {
		level = unix.SOL_IP
	}
	var errno unix.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, uintptr(level), soOriginalDst,
			uintptr(unsafe.Pointer(&addr)), uintptr(unsafe.Pointer(&size)), 0)
	}); err != nil {
		return netip.AddrPort{}, err
	}
	if errno != 0 {
		return netip.AddrPort{}, fmt.Errorf("SO_ORIGINAL_DST: %w", errno)
	}
	ip := netip.AddrFrom16(addr.Addr)
	if level == unix.SOL_IP {
		ip = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&addr)).Addr)
	}
	port := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, addr.Port))
	return netip.AddrPortFrom(ip, port), nil
}

func accept(listener net.Listener, serve func(*net.TCPConn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if conn.SetDeadline(time.Now().Add(4*dialTimeout)) == nil {
				serve(conn.(*net.TCPConn))
			}
		}()
	}
}

// serve listens in the namespace: it reports at which address it was reached,
// and echoes its input.
func (n *namespace) serve(t *testing.T, ports ...int) {
	t.Helper()
	for _, port := range ports {
		var listener net.Listener
		n.run(t, func() (err error) {
			listener, err = net.Listen("tcp", fmt.Sprintf(":%d", port))
			return err
		})
		t.Cleanup(func() { listener.Close() })
		go accept(listener, func(conn *net.TCPConn) {
			fmt.Fprintf(conn, "server %s\n", conn.LocalAddr())
			_, _ = io.Copy(conn, conn)
		})
	}
}

// dial connects from the namespace, as the test's own user.
func (n *namespace) dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	var conn net.Conn
	n.run(t, func() (err error) {
		if conn, err = net.DialTimeout("tcp", address, dialTimeout); err != nil {
			return err
		}
		return conn.SetDeadline(time.Now().Add(4 * dialTimeout))
	})
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// ask connects from the namespace and returns the proxies that the connection
// passed.
func (n *namespace) ask(t *testing.T, address string) string {
	t.Helper()
	conn := n.dial(t, address)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(answer)), "\n", ", ")
}
