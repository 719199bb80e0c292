package serving

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// DefaultConnections is the default limit of connections to the API server's
// port. Over HTTP/1.1 an API server uses one for each concurrent request; each
// takes about 30 KB.
const DefaultConnections = 1000

// connections limits the open connections of a server. Each one beyond the
// limit closes an earlier one of the source that holds most: the one that has
// been idle, or has sent only a part of a header, for the longest time; if there
// is none, the one that has been sending its body for the longest time. It never
// closes one whose request has arrived. Whoever holds connections open thus
// loses them, and an API server keeps its own. Without regard to the source, a
// flood would close the API server's new connections before their first request:
// a thousand others arrive during a slow handshake.
type connections struct {
	limit   int
	metrics connectionMetrics

	mu      sync.Mutex
	open    map[net.Conn]*connection
	sources map[netip.Addr]*source
	moves   uint64
}

// A source has the open connections from an address.
type source struct {
	address netip.Addr
	open    int
	// waiting has the connections without a request, sending those whose body has
	// not arrived, in the order in which they entered that state.
	waiting, sending list.List
}

// A connection is an open one, and the body of its current request.
type connection struct {
	of   *connections
	from *source
	conn net.Conn
	// end ends the wait for the TLS handshake.
	end context.CancelFunc
	// in is the list that contains it, at place; nil while its request is decided.
	// since counts the moves until it came there.
	in    *list.List
	place *list.Element
	since uint64
	// answered is true after the first response.
	answered bool
	body     io.ReadCloser
}

// cause says why a connection is closed for a new one: what it was waiting for.
func (of *connection) cause() cause {
	switch {
	case of.in == nil:
		return causeFull
	case of.in == &of.from.sending:
		return causeBody
	case of.answered:
		return causeIdle
	}
	return causeHeader
}

// connectionKey finds the connection in a request's context.
type connectionKey struct{}

// limitConnections limits the connections of a server before it starts.
func limitConnections(server *http.Server, limit int, metrics connectionMetrics) {
	c := &connections{limit: limit, metrics: metrics, open: map[net.Conn]*connection{}, sources: map[netip.Addr]*source{}}
	server.ConnContext, server.ConnState, server.Handler = c.opened, c.changed, c.handler(server.Handler)
}

// opened adds a new connection.
func (c *connections) opened(ctx context.Context, conn net.Conn) context.Context {
	ctx, end := context.WithCancel(ctx)
	c.mu.Lock()
	added := &connection{of: c, from: c.source(addressOf(conn.RemoteAddr())), conn: conn, end: end}
	var excess *connection
	if len(c.open) >= c.limit {
		excess = cmp.Or(c.excess(), added)
		c.metrics.closed(excess.cause())
	}
	c.open[conn] = added
	added.from.open++
	c.move(added, &added.from.waiting)
	if excess != nil {
		c.forget(excess)
	}
	c.metrics.open.Set(float64(len(c.open)))
	c.mu.Unlock()
	if excess != nil {
		excess.close()
	}
	return context.WithValue(ctx, connectionKey{}, added)
}

// source returns the source of an address. The caller must hold the lock.
func (c *connections) source(address netip.Addr) *source {
	known := c.sources[address]
	if known == nil {
		known = &source{address: address}
		c.sources[address] = known
	}
	return known
}

// excess returns the connection to close for a new one; nil if all have a
// request that has arrived. The caller must hold the lock.
func (c *connections) excess() *connection {
	var most *source
	for _, s := range c.sources {
		if s.idle() > 0 && (most == nil || s.idle() > most.idle() || s.idle() == most.idle() && s.first().since < most.first().since) {
			most = s
		}
	}
	if most == nil {
		return nil
	}
	return most.first()
}

// idle counts the connections that can be closed.
func (s *source) idle() int { return s.waiting.Len() + s.sending.Len() }

// first returns the connection to close.
func (s *source) first() *connection {
	return cmp.Or(s.waiting.Front(), s.sending.Front()).Value.(*connection)
}

// changed follows a connection: it is active once the header of a request has
// arrived, and idle after the response.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[conn]
	switch {
	case known == nil: // closed because of the limit
	case state == http.StateActive:
		c.move(known, &known.from.sending)
	case state == http.StateIdle:
		known.answered = true
		c.move(known, &known.from.waiting)
	case state == http.StateClosed, state == http.StateHijacked:
		c.forget(known)
		c.metrics.open.Set(float64(len(c.open)))
	}
}

// move puts a connection at the end of a list, or into none. The caller must
// hold the lock.
func (c *connections) move(of *connection, to *list.List) {
	if of.in != nil {
		of.in.Remove(of.place)
	}
	c.moves++
	of.since = c.moves
	if of.in = to; to != nil {
		of.place = to.PushBack(of)
	}
}

// forget removes a connection. The caller must hold the lock.
func (c *connections) forget(of *connection) {
	c.move(of, nil)
	delete(c.open, of.conn)
	if of.from.open--; of.from.open == 0 {
		delete(c.sources, of.from.address)
	}
	of.end()
}

// handler notices when the request of a connection has arrived. Over HTTP/2,
// where requests share a connection, it notices the newest one.
func (c *connections) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, _ := r.Context().Value(connectionKey{}).(*connection)
		switch {
		case of == nil:
		case r.ProtoMajor > 1:
			of.moveTo(&of.from.sending)
		case r.ContentLength == 0:
			of.moveTo(nil)
		default:
			of.body, r.Body = r.Body, of
		}
		next.ServeHTTP(w, r)
	})
}

// moveTo moves a connection that is still open.
func (of *connection) moveTo(to *list.List) {
	of.of.mu.Lock()
	defer of.of.mu.Unlock()
	if of.of.open[of.conn] == of {
		of.of.move(of, to)
	}
}

// Read reads the body. It has arrived when there is no more to read.
func (of *connection) Read(p []byte) (int, error) {
	n, err := of.body.Read(p)
	if err != nil {
		of.moveTo(nil)
	}
	return n, err
}

// Close closes the body.
func (of *connection) Close() error { return of.body.Close() }

// addressOf returns a client's address without the port; of IPv6, the network of
// 64 bits, because one client can use all its addresses.
func addressOf(client net.Addr) netip.Addr {
	parsed, err := netip.ParseAddrPort(client.String())
	if err != nil {
		return netip.Addr{} // such clients are treated as one
	}
	address := parsed.Addr().Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64)
		return network.Addr()
	}
	return address
}

// close closes the connection without a TLS alert, which could wait for a client
// that does not read.
func (of *connection) close() {
	if secure, ok := of.conn.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
		return
	}
	_ = of.conn.Close()
}
