package certs_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/certs"
)

const host = "usher.test.svc"

var hosts = []string{host, "usher.test", "192.0.2.1", "2001:db8::1", "127.0.0.1"}

// lifetimes are for a fake clock that advances by minutes.
var lifetimes = certs.Lifetimes{CA: 9 * time.Hour, Serving: 3 * time.Hour, Overlap: time.Hour}

// A stage is a namespace with a Secret, and a webhook configuration with the
// bundle of one replica.
type stage struct {
	*testing.T
	client client.Client
	secret client.ObjectKey
	clock  *clocktesting.FakeClock
	config string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c, err := client.New(cluster, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "certs-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, client: c, secret: client.ObjectKey{Namespace: namespace.Name, Name: "ca"}, config: namespace.Name}
	s.clock = clocktesting.NewFakeClock(time.Now())
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: s.config}})
	})
	return s
}

// source returns one that has not started.
func (s *stage) source() *certs.SelfSigned {
	s.Helper()
	return &certs.SelfSigned{
		Config: certs.Config{
			Lifetimes: lifetimes, Hosts: hosts, Registered: s.registered, Clock: s.clock, Log: testr.New(s.T),
		},
		Secret: s.secret, Reader: s.client, Writer: s.client, Informers: s.informers(),
	}
}

func (s *stage) informers() cache.Cache {
	s.Helper()
	informers, err := cache.New(cluster, cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{s.secret.Namespace: {}}},
	}})
	if err != nil {
		s.Fatal(err)
	}
	s.run(informers)
	return informers
}

// run runs something until the test ends.
func (s *stage) run(r interface{ Start(context.Context) error }) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}

// replica is a source that serves.
func (s *stage) replica() *certs.SelfSigned {
	s.Helper()
	source := s.source()
	s.run(source)
	s.until("the replica has a certificate", func() bool { return source.Bundle() != nil })
	return source
}

// register keeps the bundle of a source registered.
func (s *stage) register(source certs.Source) {
	s.Helper()
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.config},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "usher.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/"), CABundle: source.Bundle()},
		}},
	}
	if err := s.client.Create(s.Context(), config); err != nil {
		s.Fatal(err)
	}
	s.run(runnable(func(ctx context.Context) error {
		return certs.Follow(ctx, source, func(bundle []byte) error {
			config.Webhooks[0].ClientConfig.CABundle = bundle
			if err := s.client.Update(ctx, config); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}))
}

type runnable func(context.Context) error

func (r runnable) Start(ctx context.Context) error { return r(ctx) }

func (s *stage) registered(ctx context.Context) ([]*x509.Certificate, error) {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: s.config}, config); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return certs.Common(config.Webhooks[0].ClientConfig.CABundle), nil
}

// listen serves TLS like the webhook server and returns its address.
func (s *stage) listen(source certs.Source) string {
	s.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: source.GetCertificate, MinVersion: tls.VersionTLS12})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// handshake calls a replica with the registered CA bundle.
func (s *stage) handshake(ctx context.Context, address string) error {
	bundle, err := s.registered(ctx)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	for _, ca := range bundle {
		roots.AddCert(ca)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address, &tls.Config{RootCAs: roots, ServerName: host, Time: s.clock.Now})
	if err != nil {
		return fmt.Errorf("%d CAs registered: %w", len(bundle), err)
	}
	return conn.Close()
}

func (s *stage) until(what string, done func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
}

// stored returns the Secret, without data if it does not exist.
func (s *stage) stored() *corev1.Secret {
	s.Helper()
	secret := &corev1.Secret{}
	if err := s.client.Get(s.Context(), s.secret, secret); client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	return secret
}

func keys(secret *corev1.Secret) string {
	var held []string
	for _, key := range []string{"tls.crt", "tls.key", "next.crt", "next.key", "previous.crt"} {
		if _, ok := secret.Data[key]; ok {
			held = append(held, key)
		}
	}
	return strings.Join(held, " ")
}
