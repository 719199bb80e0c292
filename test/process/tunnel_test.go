package process_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A tunnel forwards connections to one of its ends, like a Service to its ready
// endpoints.
type tunnel struct {
	net.Listener
	// end returns the end of the next connection, or "".
	end func() string

	mu    sync.Mutex
	mode  mode
	conns map[net.Conn]bool
}

// A mode is what a tunnel does with connections.
type mode int

const (
	open    mode = iota
	cut          // closes them
	stalled      // accepts them and forwards nothing
)

func newTunnel(t *testing.T, end func() string) *tunnel {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &tunnel{Listener: listener, end: end, conns: map[net.Conn]bool{}}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { n.carry(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		n.turn(cut)
		conns.Wait()
	})
	return n
}

// turn changes the mode, and closes existing connections.
func (n *tunnel) turn(to mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mode = to
	for conn := range n.conns {
		conn.Close()
	}
}

// hold registers a connection, and returns its mode.
func (n *tunnel) hold(conn net.Conn) mode {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[conn] = true
	return n.mode
}

func (n *tunnel) release(conn net.Conn) {
	conn.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, conn)
}

func (n *tunnel) carry(near net.Conn) {
	defer n.release(near)
	switch n.hold(near) {
	case cut:
		return
	case stalled:
		_, _ = io.Copy(io.Discard, near) // until it is closed
		return
	case open:
	}
	address := n.end()
	if address == "" {
		return
	}
	far, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer n.release(far)
	n.hold(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(near, far)
		near.Close()
	}()
	_, _ = io.Copy(far, near)
	far.Close()
	<-back
}
