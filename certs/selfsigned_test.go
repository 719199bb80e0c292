package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/test/controlplane"
)

var hosts = []string{"usher.usher-system.svc", "usher.usher-system", "192.0.2.1", "2001:db8::1", "usher.example.com"}

var plane *controlplane.ControlPlane

func TestMain(m *testing.M) {
	var err error
	if plane, err = controlplane.Start(os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// source is one replica's, with a connection of its own.
func source(t *testing.T, name string) *certs.SelfSigned {
	t.Helper()
	c, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &certs.SelfSigned{Reader: c, Writer: c, Secret: client.ObjectKey{Namespace: "default", Name: name}, Hosts: hosts}
}

// TestReplicasShareOneAuthority starts replicas at once where there is no CA
// yet: whichever makes it, all serve under it.
func TestReplicasShareOneAuthority(t *testing.T) {
	const replicas = 8
	sources := make([]*certs.SelfSigned, replicas)
	errs := make([]error, replicas)
	var wait sync.WaitGroup
	for i := range sources {
		sources[i] = source(t, "race")
		wait.Go(func() { errs[i] = sources[i].Load(t.Context()) })
	}
	wait.Wait()
	for i, s := range sources {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if !bytes.Equal(s.Bundle(), sources[0].Bundle()) {
			t.Errorf("replica %d has another bundle than replica 0", i)
		}
		verify(t, s, sources[0].Bundle())
	}
	// One that starts later takes the same.
	late := source(t, "race")
	if err := late.Load(t.Context()); err != nil || !bytes.Equal(late.Bundle(), sources[0].Bundle()) {
		t.Errorf("a later replica has another bundle, or fails: %v", err)
	}
}

// verify checks the serving certificate under a bundle as the API server does.
func verify(t *testing.T, s *certs.SelfSigned, bundle []byte) {
	t.Helper()
	serving, err := s.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		t.Fatal("the bundle holds no certificate")
	}
	for _, host := range hosts {
		if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: "other.usher-system.svc", Roots: roots}); err == nil {
		t.Error("the certificate is one for other names as well")
	}
}

func TestBeforeLoad(t *testing.T) {
	s := source(t, "never")
	if bundle := s.Bundle(); bundle != nil {
		t.Errorf("a bundle before Load: %s", bundle)
	}
	if _, err := s.GetCertificate(&tls.ClientHelloInfo{}); err == nil {
		t.Error("a certificate before Load")
	}
}

func TestSecretsThatHoldNoAuthority(t *testing.T) {
	good := source(t, "good")
	if err := good.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	if err := good.Reader.Get(t.Context(), good.Secret, &secret); err != nil {
		t.Fatal(err)
	}
	cert, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	tests := map[string]struct{ cert, key []byte }{
		"empty":             {},
		"no PEM":            {[]byte("certificate"), []byte("key")},
		"a key alone":       {nil, key},
		"truncated":         {cert[:len(cert)/2], key},
		"a key that is not": {cert, cert},
	}
	i := 0
	for name, tc := range tests {
		i++
		s := source(t, fmt.Sprintf("bad-%d", i))
		t.Run(name, func(t *testing.T) {
			bad := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Secret.Namespace, Name: s.Secret.Name},
				Data:       map[string][]byte{corev1.TLSCertKey: tc.cert, corev1.TLSPrivateKeyKey: tc.key},
			}
			if err := s.Writer.Create(t.Context(), bad); err != nil {
				t.Fatal(err)
			}
			err := s.Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), "CA in Secret default/bad-") || !strings.Contains(err.Error(), "delete the Secret, usher makes it anew") {
				t.Errorf("got %v", err)
			}
			// What someone else wrote is not overwritten.
			var kept corev1.Secret
			if err := s.Reader.Get(context.Background(), s.Secret, &kept); err != nil || !bytes.Equal(kept.Data[corev1.TLSCertKey], tc.cert) {
				t.Errorf("the Secret was changed: %v", err)
			}
		})
	}
}
