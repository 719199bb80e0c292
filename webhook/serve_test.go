package webhook

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
	"errors"
	"fmt"
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
	url     string
	client  *http.Client
	metrics *prometheus.Registry
	ready   func() error
	end     func() // as SIGTERM does
	ended   chan error
}

// serveDecide serves decisions made by decide.
func serveDecide(t *testing.T, o Options, decide func(context.Context, *Request) (*Response, error)) *served {
	t.Helper()
	o.BindAddress, o.Log = "127.0.0.1:0", logr.Discard()
	authority := newTestCA(t)
	listener, err := o.listen(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return authority.issue(t, "usher"), nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	serving, stop, drain := drained(ctx, o.ShutdownDelay)
	t.Cleanup(stop)
	s := &served{
		url: "https://" + listener.Addr().String() + "/mutate", metrics: prometheus.NewRegistry(), end: end, ended: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.pool()}, ForceAttemptHTTP2: o.HTTP2}},
	}
	counts, ready := NewMetrics(s.metrics), make(chan struct{})
	close(ready)
	s.ready = readiness(ready, drain)
	e := &endpoint{
		handler: Handler{Path: "/mutate", Kinds: []string{"Pod"}, Decide: decide}, ready: ready, limit: newLimit(o.MaxConcurrent), metrics: counts, log: logr.Discard(),
	}
	mux := http.NewServeMux()
	mux.Handle("/mutate", measure(counts, "/mutate", e))
	go func() { s.ended <- o.server(listener, drain.handler(mux)).Start(serving) }()
	t.Cleanup(func() {
		end()
		s.client.CloseIdleConnections()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// metric is the sum of a metric's values, of a histogram its observations.
func (s *served) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

type answer struct {
	*http.Response
	body string
	err  error
}

func (s *served) post() answer {
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":{}}}`
	res, err := s.client.Post(s.url, "application/json", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res, string(text), err}
}

func allow(context.Context, *Request) (*Response, error) {
	return &Response{Allowed: true, Reason: "injected"}, nil
}

func TestRequestsInFlightAreAnsweredAtShutdown(t *testing.T) {
	deciding, decide := make(chan struct{}), make(chan struct{})
	s := serveDecide(t, Options{ShutdownDelay: 500 * time.Millisecond}, func(ctx context.Context, req *Request) (*Response, error) {
		deciding <- struct{}{}
		<-decide
		return allow(ctx, req)
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
	// Until the delay is over, those that come are answered, too.
	go func() { answers <- s.post() }()
	<-deciding
	for { // until the delay is over
		conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mutate"))
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
		if a.err != nil || a.StatusCode != http.StatusOK || !strings.Contains(a.body, `"allowed":true`) {
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

func TestTooManyAtOnceAreAskedToComeAgain(t *testing.T) {
	deciding, decide := make(chan struct{}), make(chan struct{})
	s := serveDecide(t, Options{MaxConcurrent: 1}, func(ctx context.Context, req *Request) (*Response, error) {
		deciding <- struct{}{}
		<-decide
		return allow(ctx, req)
	})
	first := make(chan answer, 1)
	go func() { first <- s.post() }()
	<-deciding
	a := s.post()
	if a.err != nil || a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" || !strings.Contains(a.body, "too many requests at once") {
		t.Errorf("got %+v", a)
	}
	if got := s.metric(t, "usher_throttled_total"); got != 1 {
		t.Errorf("usher_throttled_total is %v", got)
	}
	if got := s.metric(t, "usher_requests_in_flight"); got != 1 {
		t.Errorf("usher_requests_in_flight is %v", got)
	}
	close(decide)
	if a := <-first; a.err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("the first got %+v", a)
	}
	go func() { <-deciding }()
	if a := s.post(); a.StatusCode != http.StatusOK {
		t.Errorf("one after it got %+v", a)
	}
}

func TestPanicsAreContainedAndCounted(t *testing.T) {
	panics := true
	s := serveDecide(t, Options{}, func(ctx context.Context, req *Request) (*Response, error) {
		if panics {
			panic("oh")
		}
		return allow(ctx, req)
	})
	for range 3 {
		if a := s.post(); a.err != nil || a.StatusCode != http.StatusInternalServerError || a.body != "usher cannot decide: internal error\n" {
			t.Errorf("got %+v", a)
		}
	}
	if got := s.metric(t, "usher_panics_total"); got != 3 {
		t.Errorf("usher_panics_total is %v", got)
	}
	panics = false
	if a := s.post(); a.StatusCode != http.StatusOK {
		t.Errorf("one that does not panic got %+v", a)
	}
	if got := s.metric(t, "usher_request_duration_seconds"); got != 4 {
		t.Errorf("usher_request_duration_seconds has %v observations", got)
	}
}

func TestWhatCannotBeDecidedIsLeftToTheFailurePolicy(t *testing.T) {
	tests := map[string]struct {
		err    error
		status int
	}{
		"usher fails":                       {errors.New("oh"), http.StatusInternalServerError},
		"the caches are not loaded":         {fmt.Errorf("%w: the caches are not synced", errUnavailable), http.StatusServiceUnavailable},
		"the API server does not answer it": {fmt.Errorf("reading a Namespace: %w", context.DeadlineExceeded), http.StatusServiceUnavailable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := serveDecide(t, Options{}, func(context.Context, *Request) (*Response, error) { return nil, tc.err })
			if a := s.post(); a.err != nil || a.StatusCode != tc.status || a.body != "usher cannot decide: "+tc.err.Error()+"\n" {
				t.Errorf("got %+v, want %d", a, tc.status)
			}
			if got := s.metric(t, "usher_faults_total"); got != 1 {
				t.Errorf("usher_faults_total is %v", got)
			}
		})
	}
}

func TestMemoryOfLargeBodiesIsBounded(t *testing.T) {
	s := serveDecide(t, Options{}, allow)
	l := newLimit(1)
	memory := hold{limit: l}
	for range maxLarge / maxBody {
		if err := memory.reserve(maxBody); err != nil {
			t.Fatal(err)
		}
	}
	if err := memory.reserve(maxBody); err == nil {
		t.Error("more was reserved than there is")
	}
	memory.release()
	if !l.large.TryAcquire(maxLarge) {
		t.Error("it was not given back")
	}
	// A body of any length, sent without saying how long it is, is read.
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","kind":{"kind":"Pod"},"operation":"CREATE","object":{"a":"` + strings.Repeat("x", 3*eager) + `"}}}`
	for _, length := range []int64{int64(len(body)), -1} {
		req, err := http.NewRequest(http.MethodPost, s.url, io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("length %d: %d", length, res.StatusCode)
		}
	}
}

func TestHTTP2IsOfferedByTheOptionAlone(t *testing.T) {
	for _, offered := range []bool{false, true} {
		s := serveDecide(t, Options{HTTP2: offered}, allow)
		s.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		if a := s.post(); a.err != nil || (a.ProtoMajor == 2) != offered {
			t.Errorf("offered %v: got %+v", offered, a)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := serveDecide(t, Options{}, allow)
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
			s := serveDecide(t, Options{ClientCAFile: file, ClientNames: tc.names}, allow)
			if tc.certificate != nil {
				s.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*tc.certificate}
			}
			if a := s.post(); (a.err != nil) != tc.refused {
				t.Errorf("got %+v", a)
			}
		})
	}
	t.Run("a CA that is replaced needs no restart", func(t *testing.T) {
		s := serveDecide(t, Options{ClientCAFile: file}, allow)
		s.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*other.issue(t, "kube-apiserver")}
		if err := os.WriteFile(file, bytes.Join([][]byte{authority.pem, other.pem}, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := s.post(); a.err != nil {
			t.Error(a.err)
		}
	})
	for name, o := range map[string]Options{
		"a file that is not there": {ClientCAFile: file + "x"}, "names without a CA": {ClientNames: []string{"a"}}, "a file that holds no certificate": {ClientCAFile: "serve_test.go"},
	} {
		o.BindAddress = "127.0.0.1:0"
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
