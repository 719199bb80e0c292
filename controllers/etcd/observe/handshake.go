package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
)

// handshakes are TLS credentials that tell when a handshake with a member fails,
// because a call does not: the client tries again until the time of the call is
// over.
type handshakes struct {
	credentials.TransportCredentials
	next *sync.Map // of failures by host name
}

// A failure is a context that ends when the next handshake with a member fails.
type failure struct {
	context.Context
	end context.CancelFunc
}

func newHandshakes(secure *tls.Config) handshakes {
	return handshakes{credentials.NewTLS(secure), &sync.Map{}}
}

func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.next}
}

func (h handshakes) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	host, _, _ := strings.Cut(authority, ":")
	if err != nil {
		h.note(host, err)
		return nil, nil, err
	}
	return &shaken{c, h, host}, info, nil
}

// note tells of an error with which one side ends a handshake, unlike a
// connection that breaks.
func (h handshakes) note(host string, err error) {
	var alert *net.OpError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &alert) && alert.Op == "remote error" || errors.As(err, &certificate) || errors.As(err, &record) {
		if next, waits := h.next.LoadAndDelete(host); waits {
			next.(failure).end()
		}
	}
}

// failure returns the next failure with the member at that URL.
func (h handshakes) failure(clientURL string) failure {
	ctx, end := context.WithCancel(context.Background())
	u, err := url.Parse(clientURL)
	if h.next == nil || err != nil {
		return failure{ctx, end}
	}
	next, _ := h.next.LoadOrStore(u.Hostname(), failure{ctx, end})
	return next.(failure)
}

// call makes a call to the member at that URL, and ends it once a handshake with
// the member fails, which it reports.
func (h handshakes) call(ctx context.Context, clientURL string, to func(context.Context) error) (failed bool, err error) {
	next := h.failure(clientURL)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(next, cancel)()
	err = to(ctx)
	return next.Err() != nil, err
}

// A shaken is a connection after the client's part of the handshake: in TLS 1.3
// a server refuses the client's certificate only then.
type shaken struct {
	net.Conn
	by   handshakes
	host string
}

func (s *shaken) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.by.note(s.host, err)
	}
	return n, err
}
