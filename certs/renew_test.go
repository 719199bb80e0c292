package certs

import (
	"crypto/x509"
	"testing"
	"time"
)

// TestRenewal goes through a year of handshakes: the certificate is always
// valid for a third of its life to come, and not issued more often than that
// takes.
func TestRenewal(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cert, key, err := newAuthority("CA", start, caLifetime)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := parseAuthority(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	s := &SelfSigned{ca: ca, Hosts: []string{"usher"}}
	issued := map[string]bool{}
	year := start.AddDate(1, 0, 0)
	for now := start; now.Before(year); now = now.Add(6 * time.Hour) {
		if err := s.renew(now); err != nil {
			t.Fatal(err)
		}
		leaf := s.serving.Leaf
		issued[leaf.SerialNumber.String()] = true
		for _, at := range []time.Time{now, now.Add(servingLifetime/3 - time.Minute)} {
			if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "usher", Roots: roots, CurrentTime: at}); err != nil {
				t.Fatalf("on %s, at %s: %v", now, at, err)
			}
		}
	}
	if want := 7; len(issued) != want { // every 60 days of 365
		t.Errorf("%d certificates in a year, want %d", len(issued), want)
	}
}

// TestClocksMayDiffer serves an API server whose clock is behind.
func TestClocksMayDiffer(t *testing.T) {
	now := time.Now()
	cert, key, err := newAuthority("CA", now, caLifetime)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := parseAuthority(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.issue([]string{"usher"}, now, servingLifetime)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{DNSName: "usher", Roots: roots, CurrentTime: now.Add(-skew + time.Minute)}); err != nil {
		t.Error(err)
	}
}
