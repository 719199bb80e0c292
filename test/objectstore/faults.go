package objectstore

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Fault is a failure of the network. The zero value is none. Bytes are
// counted in each connection.
type Fault struct {
	// Refuse closes every connection at once.
	Refuse bool
	// StallUp and CutUp stop forwarding requests, and break the connection, after
	// that many bytes; StallDown and CutDown do so for responses. 0 means never.
	StallUp, CutUp, StallDown, CutDown int64
	// FlipUp changes one bit of the byte at this offset of requests, FlipDown of
	// responses. 0 means never.
	FlipUp, FlipDown int64
}

// A Proxy forwards connections, subject to its fault.
type Proxy struct {
	// Address is its listening address.
	Address string

	to       string
	listener net.Listener

	mu      sync.Mutex
	fault   Fault
	open    map[net.Conn]bool
	stalled chan struct{}
	reset   chan struct{} // closed when the fault changes
}

// StartProxy starts a proxy for an address. The caller stops it.
func StartProxy(to string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Address: l.Addr().String(), to: to, listener: l, open: map[net.Conn]bool{}, stalled: make(chan struct{}, 1), reset: make(chan struct{})}
	go p.accept()
	return p, nil
}

// Set changes the fault, and closes existing connections.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	p.endAll()
	select {
	case <-p.stalled:
	default:
	}
}

// UntilStalled waits until the fault has stalled a connection.
func (p *Proxy) UntilStalled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case <-p.stalled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a connection to stall: %w", ctx.Err())
	}
}

// Stop stops the proxy and its connections.
func (p *Proxy) Stop() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAll()
}

func (p *Proxy) endAll() {
	close(p.reset)
	p.reset = make(chan struct{})
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *Proxy) serve(down net.Conn) {
	defer down.Close()
	p.mu.Lock()
	f, reset := p.fault, p.reset
	p.mu.Unlock()
	if f.Refuse {
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open[down], p.open[up] = true, true
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader, stall, cut, flip int64) {
		if p.copy(to, from, stall, cut, flip) {
			<-reset
		}
		ended <- struct{}{}
	}
	go pass(up, down, f.StallUp, f.CutUp, f.FlipUp)
	go pass(down, up, f.StallDown, f.CutDown, f.FlipDown)
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, down)
	delete(p.open, up)
}

// copy copies until either end closes, or until the fault cuts or stalls it.
func (p *Proxy) copy(to io.Writer, from io.Reader, stall, cut, flip int64) (stalled bool) {
	var passed int64
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		part := buffer[:n]
		if flip > passed && flip <= passed+int64(n) {
			part[flip-passed-1] ^= 1
		}
		if cut > 0 && passed+int64(n) > cut {
			_, _ = to.Write(part[:cut-passed])
			return false
		}
		if stall > 0 && passed+int64(n) > stall {
			select {
			case p.stalled <- struct{}{}:
			default:
			}
			_, _ = io.Copy(io.Discard, from) // keeps reading without forwarding
			return true
		}
		passed += int64(n)
		if n > 0 {
			if _, err := to.Write(part); err != nil {
				return false
			}
		}
		if err != nil {
			return false
		}
	}
}
