package serving

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options configures the server. Addresses are host:port.
type Options struct {
	// Address serves the API server, HealthAddress the kubelet; "0" disables the
	// latter.
	Address, HealthAddress string
	// ClientCAFile contains the CA of the API server's client certificate, which
	// is optional if it is ""; ClientNames are the names that the certificate may
	// have.
	ClientCAFile string
	ClientNames  []string
	// HTTP2 offers HTTP/2 in addition to HTTP/1.1.
	HTTP2 bool
	// BodyTimeout is how long a request's body may take to arrive.
	BodyTimeout time.Duration
	// MaxConnections limits the connections to Address; 0 means
	// DefaultConnections.
	MaxConnections int
	Metrics        *Metrics
	Log            logr.Logger
}

// Deadlines of a connection to the API server. A decision has a shorter one.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 15 * time.Second
	// idleTimeout is longer than the API server's 90 seconds, so that the API
	// server does not write a request into a connection that is being closed.
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 20 * time.Second
	maxHeader       = 64 << 10
	maxStreams      = 100
	// maxProbes limits the connections to HealthAddress.
	maxProbes = 100
)

// A Certificate returns the certificate to serve with.
type Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// listen opens the address that the API server calls. The API server uses
// HTTP/1.1 for Services; HTTP/2 is for clusters with a proxy in between.
func (o Options) listen(get Certificate) (net.Listener, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: get,
	}
	if o.HTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	if err := (clientCertificates{o.ClientCAFile, o.ClientNames}).configure(config); err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", o.Address, config)
	if err != nil {
		return nil, fmt.Errorf("bind address: %w", err)
	}
	return listener, nil
}

// server serves the handler on the listener.
func (o Options) server(listener net.Listener, handler http.Handler) *manager.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(o.HTTP2)
	server := &http.Server{
		Handler: handler, Protocols: protocols, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout + o.BodyTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		// A client that immediately resets its streams gets only this many handlers,
		// and the same number of places in the server's queue.
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: 30 * time.Second, WriteByteTimeout: writeTimeout},
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(o.Log.V(1)), slog.LevelDebug),
	}
	limitConnections(server, cmp.Or(o.MaxConnections, DefaultConnections), o.Metrics.of("webhook"))
	timeout := shutdownTimeout
	return &manager.Server{Name: "webhook", Listener: listener, ShutdownTimeout: &timeout, Server: server}
}

// Add opens the addresses and adds the servers to the manager, which starts
// them first and stops them last.
func Add(m manager.Manager, o Options, get Certificate, handler http.Handler, health *Health) error {
	listener, err := o.listen(get)
	if err != nil {
		return err
	}
	if o.HealthAddress != "0" {
		probes, err := net.Listen("tcp", o.HealthAddress)
		if err != nil {
			listener.Close()
			return fmt.Errorf("health address: %w", err)
		}
		server := &http.Server{Handler: health.Handler(), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTimeout, IdleTimeout: time.Minute}
		limitConnections(server, maxProbes, o.Metrics.of("health"))
		if err := m.Add(&manager.Server{Name: "health", Listener: probes, Server: server}); err != nil {
			return err
		}
	}
	return m.Add(o.server(listener, handler))
}
