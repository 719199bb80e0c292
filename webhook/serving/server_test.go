package serving

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// A served is a handler behind the real server.
type served struct {
	url    string
	client *http.Client
	ready  func() error
	end    func()        // like SIGTERM
	idle   chan struct{} // one for each connection that becomes idle
	values *prometheus.Registry
	ended  chan error
}

// serve serves a handler that ends the delay after end is called.
func serve(t *testing.T, o Options, delay time.Duration, handler http.HandlerFunc) *served {
	t.Helper()
	values := prometheus.NewRegistry()
	o.Address, o.BodyTimeout, o.Log, o.Metrics = "127.0.0.1:0", 5*time.Second, logr.Discard(), NewMetrics(values)
	authority := newTestCA(t)
	listener, err := o.listen(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return authority.issue(t, "usher"), nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	running, stop, drain := NewDrain(ctx, delay)
	t.Cleanup(stop)
	ready := make(chan struct{})
	close(ready)
	s := &served{
		url: "https://" + listener.Addr().String() + "/mutate", ready: drain.Readiness(ready), end: end, ended: make(chan error, 1), idle: make(chan struct{}, 100), values: values,
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.pool()}, ForceAttemptHTTP2: o.HTTP2}},
	}
	server := o.server(listener, drain.Handler(handler))
	changed := server.Server.ConnState
	server.Server.ConnState = func(conn net.Conn, state http.ConnState) {
		changed(conn, state)
		if state == http.StateIdle {
			s.idle <- struct{}{}
		}
	}
	go func() { s.ended <- server.Start(running) }()
	t.Cleanup(func() {
		end()
		s.client.CloseIdleConnections()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// address is where the server listens.
func (s *served) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mutate")
}

type answer struct {
	*http.Response
	body string
	err  error
}

func (s *served) post() answer {
	res, err := s.client.Post(s.url, "application/json", strings.NewReader("{}"))
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res, string(text), err}
}

func allow(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "allowed") }

func TestRequestsInFlightAreAnsweredAtShutdown(t *testing.T) {
	deciding, decide := make(chan struct{}), make(chan struct{})
	s := serve(t, Options{}, 500*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		deciding <- struct{}{}
		<-decide
		allow(w, r)
	})
	answers := make(chan answer, 2)
	go func() { answers <- s.post() }()
	<-deciding
	if err := s.ready(); err != nil {
		t.Fatal(err)
	}
	s.end()
	if err := s.ready(); err == nil || err.Error() != "shutting down" {
		t.Errorf("readiness is %v, want it to have fallen", err)
	}
	// Until the delay is over, the server also answers new requests.
	go func() { answers <- s.post() }()
	<-deciding
	for { // until the delay is over
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			break
		}
		conn.Close()
		runtime.Gosched()
	}
	close(decide)
	closed := 0
	for range 2 {
		a := <-answers
		if a.err != nil || a.StatusCode != http.StatusOK || a.body != "allowed" {
			t.Fatalf("got %+v", a)
		}
		if a.Close {
			closed++
		}
	}
	if closed == 0 {
		t.Error("no answer closes its connection")
	}
	err := <-s.ended
	s.ended <- err
	if err != nil {
		t.Error(err)
	}
	if a := s.post(); a.err == nil {
		t.Errorf("a request after the end got %d", a.StatusCode)
	}
}

func TestHTTP2IsOfferedOnlyByTheOption(t *testing.T) {
	for _, offered := range []bool{false, true} {
		s := serve(t, Options{HTTP2: offered}, 0, allow)
		s.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		if a := s.post(); a.err != nil || (a.ProtoMajor == 2) != offered {
			t.Errorf("offered %v: got %+v", offered, a)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := serve(t, Options{}, 0, allow)
	s.client.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if a := s.post(); a.err == nil {
		t.Errorf("TLS 1.1 got %+v", a)
	}
}

func TestClientCertificates(t *testing.T) {
	authority, other := newTestCA(t), newTestCA(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, authority.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		certificate *tls.Certificate
		names       []string
		refused     bool
	}{
		"the API server's":            {certificate: authority.issue(t, "kube-apiserver"), names: []string{"kube-apiserver"}},
		"any of the CA":               {certificate: authority.issue(t, "kube-apiserver")},
		"another name of the CA":      {certificate: authority.issue(t, "somebody"), names: []string{"kube-apiserver"}, refused: true},
		"the same name of another CA": {certificate: other.issue(t, "kube-apiserver"), refused: true},
		"none":                        {refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{ClientCAFile: file, ClientNames: tc.names}, 0, allow)
			if tc.certificate != nil {
				s.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*tc.certificate}
			}
			if a := s.post(); (a.err != nil) != tc.refused {
				t.Errorf("got %+v", a)
			}
		})
	}
	t.Run("a CA that is replaced needs no restart", func(t *testing.T) {
		s := serve(t, Options{ClientCAFile: file}, 0, allow)
		s.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*other.issue(t, "kube-apiserver")}
		if err := os.WriteFile(file, bytes.Join([][]byte{authority.pem, other.pem}, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := s.post(); a.err != nil {
			t.Error(a.err)
		}
	})
	for name, o := range map[string]Options{
		"a file that is not there": {ClientCAFile: file + "x"}, "names without a CA": {ClientNames: []string{"a"}}, "a file that contains no certificate": {ClientCAFile: "server_test.go"},
	} {
		o.Address, o.Metrics = "127.0.0.1:0", NewMetrics(prometheus.NewRegistry())
		if l, err := o.listen(nil); err == nil {
			l.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

// A testCA issues certificates for both sides.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newTestCA(t *testing.T) *testCA {
	t.Helper()
	ca := &testCA{}
	ca.cert, ca.key = sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	ca.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
	return ca
}

func (ca *testCA) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

func (ca *testCA) issue(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	cert, key := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, ca)
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func sign(t *testing.T, template *x509.Certificate, ca *testCA) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if ca == nil {
		ca = &testCA{cert: template, key: key}
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
