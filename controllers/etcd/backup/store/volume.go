package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/usher-dev/usher/controllers/etcd/answer"
)

// Protocol is the protocol to which a connection to a store is upgraded.
const Protocol = "usher-volume"

// The HTTP/2 protocol between the two ends of a connection to a store.
const (
	pathReady, pathObject, pathAbout, pathList = "/ready", "/object", "/about", "/list"
	// An Object or About in JSON, and the Reason of a failure.
	headerObject, headerAbout, headerReason = "Usher-Object", "Usher-About", "Usher-Reason"
)

// A connection without data for this long is pinged, and closed without an
// answer.
const (
	askAfter     = 15 * time.Second
	answerBefore = 15 * time.Second
)

// connectionConfig and connectionProtocols are those of both ends: HTTP/2 from
// the first byte, inside an already encrypted connection.
func connectionConfig() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: askAfter, PingTimeout: answerBefore}
}

func connectionProtocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return p
}

// A Volume stores backups in a store at the other end of a connection, where
// Serve serves it. It allows concurrent requests.
type Volume struct {
	// behind is what is there.
	behind    Behind
	client    *http.Client
	transport *http.Transport
	conn      *watchedConn
}

// NewVolume returns the store at the other end of the connection once that has
// answered. It closes the connection.
func NewVolume(ctx context.Context, conn net.Conn, behind Behind) (*Volume, error) {
	watched := &watchedConn{Conn: conn, gone: make(chan struct{})}
	once := make(chan net.Conn, 1)
	once <- watched
	t := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-once:
				return c, nil
			default:
				return nil, errors.New("the connection to the pod is gone")
			}
		},
		Protocols: connectionProtocols(), HTTP2: connectionConfig(), DisableCompression: true,
	}
	v := &Volume{behind: behind, client: &http.Client{Transport: t}, transport: t, conn: watched}
	res, err := v.do(ctx, http.MethodGet, pathReady, "", nil, nil, "calling")
	if err != nil {
		v.Close()
		return nil, err
	}
	return v, res.Body.Close()
}

// Close closes the connection.
func (v *Volume) Close() {
	v.conn.end()
	_ = v.conn.Close()
	v.transport.CloseIdleConnections()
}

// Gone returns a channel that is closed when the connection ends.
func (v *Volume) Gone() <-chan struct{} { return v.conn.gone }

// Put implements Store.
func (v *Volume) Put(ctx context.Context, key string, about About, r io.Reader) error {
	said, err := json.Marshal(about)
	if err != nil {
		return err
	}
	from := NewUpload(r)
	res, err := v.do(ctx, http.MethodPut, pathObject, key, from, http.Header{headerAbout: {string(said)}}, "saving")
	_ = from.Close() // the caller may use r again
	switch {
	case err == nil:
		return res.Body.Close()
	case from.Failed() != nil:
		return from.Failed()
	}
	return err
}

// Get implements Store.
func (v *Volume) Get(ctx context.Context, key string) (io.ReadCloser, *Object, error) {
	res, err := v.do(ctx, http.MethodGet, pathObject, key, nil, nil, "reading")
	if err != nil {
		return nil, nil, err
	}
	o := &Object{}
	if err := json.Unmarshal([]byte(res.Header.Get(headerObject)), o); err != nil {
		res.Body.Close()
		return nil, nil, Answered(Unavailable, err, "reading the metadata of %s: %s", key, v.unreadable())
	}
	return &Body{res.Body, key}, o, nil
}

// Stat implements Store.
func (v *Volume) Stat(ctx context.Context, key string) (*Object, error) {
	res, err := v.do(ctx, http.MethodGet, pathAbout, key, nil, nil, "looking for")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	o := &Object{}
	if err := json.NewDecoder(res.Body).Decode(o); err != nil {
		return nil, Answered(Unavailable, err, "looking for %s: %s", key, v.unreadable())
	}
	return o, nil
}

// List implements Store.
func (v *Volume) List(ctx context.Context, prefix string) ([]Object, error) {
	res, err := v.do(ctx, http.MethodGet, pathList, prefix, nil, nil, "listing")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var all []Object
	for objects := json.NewDecoder(res.Body); ; {
		var o Object
		switch err := objects.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, Answered(Unavailable, err, "listing %s: %s", prefix, v.unreadable())
		}
		all = append(all, o)
	}
}

// Delete implements Store.
func (v *Volume) Delete(ctx context.Context, key string) error {
	res, err := v.do(ctx, http.MethodDelete, pathObject, key, nil, nil, "deleting")
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// do sends a request to the other end. A failure there is an Error like
// that of the store.
func (v *Volume) do(ctx context.Context, method, path, key string, content io.Reader, header http.Header, doing string) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "volume", Path: path, RawQuery: url.Values{"key": {key}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := v.client.Do(req)
	if err != nil {
		return nil, Answered(Unavailable, err, "%s %s: the connection to %s failed: %s", doing, key, v.behind.Pod, cmp.Or(answer.Network(err), v.unreadable()))
	}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
	reason, words := v.behind.refusal(Reason(res.Header.Get(headerReason)))
	return nil, Answered(reason, errors.New(string(said)), "%s %s: %s", doing, key, words)
}

// unreadable describes an answer that is not one of usher's pods.
func (v *Volume) unreadable() string { return v.behind.Pod + " does not answer as usher's does" }

// A watchedConn reports when it has ended. It hides the type of the connection:
// of a TLS connection, net/http would inspect the negotiated protocol.
type watchedConn struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

func (c *watchedConn) end() { c.once.Do(func() { close(c.gone) }) }

// Read implements net.Conn.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.end()
	}
	return n, err
}

// Close implements net.Conn.
func (c *watchedConn) Close() error {
	c.end()
	return c.Conn.Close()
}
