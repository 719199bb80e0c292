package certs

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestRenewal covers the life of a CA: the certificate is always valid for a
// third of its lifetime, and not renewed more often than necessary.
func TestRenewal(t *testing.T) {
	l := DefaultLifetimes()
	ca, err := newAuthority("CA", begin, l.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	now := clocktesting.NewFakeClock(begin)
	s := &SelfSigned{Config: Config{Lifetimes: l, Hosts: []string{"usher"}, Clock: now, Log: logr.Discard()}, ring: &keyring{current: ca}}
	issued := map[string]bool{}
	for ; now.Now().Before(begin.Add(l.CA * 2 / 3)); now.Step(6 * time.Hour) {
		if err := s.serve(); err != nil {
			t.Fatal(err)
		}
		leaf := s.State().Serving
		issued[leaf.SerialNumber.String()] = true
		for _, at := range []time.Time{now.Now(), now.Now().Add(l.Serving/3 - time.Minute)} {
			if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "usher", Roots: roots, CurrentTime: at}); err != nil {
				t.Fatalf("on %s, at %s: %v", now.Now(), at, err)
			}
		}
	}
	if want := 5; len(issued) != want { // every 60 days of 243
		t.Errorf("%d certificates, want %d", len(issued), want)
	}
}

// TestClocksMayDiffer serves an API server whose clock is behind.
func TestClocksMayDiffer(t *testing.T) {
	ca, err := newAuthority("CA", begin, short.CA)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.issue([]string{"usher"}, begin, short.Serving)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: "usher", Roots: roots, CurrentTime: begin.Add(-skew + time.Minute)}); err != nil {
		t.Error(err)
	}
}

// TestNoCertificateOutlivesItsCA issues one at the end of the CA's lifetime.
func TestNoCertificateOutlivesItsCA(t *testing.T) {
	ca, err := newAuthority("CA", begin, short.CA)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.issue([]string{"usher"}, begin.Add(short.CA-time.Hour), short.Serving)
	if err != nil {
		t.Fatal(err)
	}
	if !serving.Leaf.NotAfter.Equal(ca.cert.NotAfter) {
		t.Errorf("valid until %s, the CA until %s", serving.Leaf.NotAfter, ca.cert.NotAfter)
	}
}
