package serving

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
)

// DefaultConnections is the default limit of connections to the API server's
// port. Over HTTP/1.1 an API server uses one for each concurrent request; each
// takes about 30 KB.
const DefaultConnections = 1000

// connections limits the open connections of a server. Each one beyond the
// limit closes an earlier one: the one that has been idle, or has sent only a
// part of a header, for the longest time; if there is none, the one that has been
// sending its body for the longest time. It never closes one whose request has
// arrived. Whoever holds connections open thus loses them, and an API server
// keeps those that it uses.
type connections struct {
	limit   int
	metrics connectionMetrics

	mu   sync.Mutex
	open map[net.Conn]*connection
	// waiting has the connections without a request, sending those whose body has
	// not arrived, in the order in which they entered that state.
	waiting, sending list.List
}

// A connection is an open one, and the body of its current request.
type connection struct {
	of   *connections
	conn net.Conn
	// end ends the wait for the TLS handshake.
	end context.CancelFunc
	// in is the list that contains it, at place; nil while its request is decided.
	in    *list.List
	place *list.Element
	// answered is true after the first response.
	answered bool
	body     io.ReadCloser
}

// cause says why a connection is closed for a new one: what it was waiting for.
func (of *connection) cause() cause {
	switch {
	case of.in == nil:
		return causeFull
	case of.in == &of.of.sending:
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
	c := &connections{limit: limit, metrics: metrics, open: map[net.Conn]*connection{}}
	server.ConnContext, server.ConnState, server.Handler = c.opened, c.changed, c.handler(server.Handler)
}

// opened adds a new connection.
func (c *connections) opened(ctx context.Context, conn net.Conn) context.Context {
	ctx, end := context.WithCancel(ctx)
	c.mu.Lock()
	added := &connection{of: c, conn: conn, end: end}
	var excess *connection
	if len(c.open) >= c.limit {
		excess = cmp.Or(c.excess(), added)
		c.metrics.closed(excess.cause())
	}
	c.open[conn] = added
	c.move(added, &c.waiting)
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

// excess returns the connection to close for a new one; nil if all have a
// request that has arrived. The caller must hold the lock.
func (c *connections) excess() *connection {
	if first := cmp.Or(c.waiting.Front(), c.sending.Front()); first != nil {
		return first.Value.(*connection)
	}
	return nil
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
		c.move(known, &c.sending)
	case state == http.StateIdle:
		known.answered = true
		c.move(known, &c.waiting)
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
	if of.in = to; to != nil {
		of.place = to.PushBack(of)
	}
}

// forget removes a connection. The caller must hold the lock.
func (c *connections) forget(of *connection) {
	c.move(of, nil)
	delete(c.open, of.conn)
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
			of.moveTo(&of.of.sending)
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

// close closes the connection without a TLS alert, which could wait for a client
// that does not read.
func (of *connection) close() {
	if secure, ok := of.conn.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
		return
	}
	_ = of.conn.Close()
}
