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

// handshakes are TLS credentials that remember with which members a handshake
// failed, because the error of a call often does not say so: the client tries
// again until its time is over.
type handshakes struct {
	credentials.TransportCredentials
	failed *sync.Map // by host name
}

func newHandshakes(secure *tls.Config) handshakes {
	return handshakes{credentials.NewTLS(secure), &sync.Map{}}
}

func (h handshakes) Clone() credentials.TransportCredentials {
	return handshakes{h.TransportCredentials.Clone(), h.failed}
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

// note remembers an error with which one side ends a handshake, unlike a
// connection that breaks.
func (h handshakes) note(host string, err error) {
	var alert *net.OpError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &alert) && alert.Op == "remote error" || errors.As(err, &certificate) || errors.As(err, &record) {
		h.failed.Store(host, true)
	}
}

// with reports whether a handshake with the member at that URL has failed.
func (h handshakes) with(clientURL string) bool {
	u, err := url.Parse(clientURL)
	if h.failed == nil || err != nil {
		return false
	}
	_, failed := h.failed.Load(u.Hostname())
	return failed
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
