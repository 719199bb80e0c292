package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// State describes a source.
type State struct {
	// Serving is the serving certificate, nil until there is one; CA is the one in
	// the bundle that signed it.
	Serving, CA *x509.Certificate
	// Phase is stable, or the phase of a CA rotation.
	Phase string
	// Err explains why the source is not current; it keeps serving what it has.
	Err error
}

// Lines describes the state for people.
func (s State) Lines() []string {
	var lines []string
	if s.Serving != nil {
		line := fmt.Sprintf("certificate serves until %s", s.Serving.NotAfter.UTC().Format(time.RFC3339))
		if s.CA != nil {
			line += fmt.Sprintf(", CA until %s (%s)", s.CA.NotAfter.UTC().Format(time.RFC3339), s.Phase)
		}
		lines = append(lines, line)
	}
	if s.Err != nil {
		lines = append(lines, "certificate is not current: "+s.Err.Error())
	}
	return lines
}

// served is what a source provides to others. The zero value provides nothing
// yet.
type served struct {
	cert atomic.Pointer[tls.Certificate]

	mu        sync.Mutex
	bundle    certificates
	changed   chan struct{}
	phase     string
	err       error
	inherited certificates // trusted until then
	until     time.Time
}

// GetCertificate answers a TLS handshake.
func (s *served) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := s.cert.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("the serving certificate is not loaded yet")
}

// Bundle returns the CAs in PEM.
func (s *served) Bundle() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Encode(s.bundle)
}

// Changed returns a channel that is closed when the bundle changes next.
func (s *served) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// State returns the state of what is served.
func (s *served) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Phase: s.phase, Err: s.err}
	if cert := s.cert.Load(); cert != nil {
		state.Serving, state.CA = cert.Leaf, signer(cert, s.bundle)
	}
	return state
}

// NeedLeaderElection is false: every replica serves.
func (s *served) NeedLeaderElection() bool { return false }

// inherit keeps the registered CAs trusted for a while after a source starts:
// replicas that serve with them may still be running, with another source or
// from before a rotation that this one has not seen.
func (s *served) inherit(registered certificates, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inherited, s.until = registered[:min(len(registered), maxInherited)], until
}

// maxInherited limits the certificates that others wrote into the bundle.
const maxInherited = 4

// publish provides a certificate and a bundle.
func (s *served) publish(cert *tls.Certificate, bundle certificates, phase string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.until) {
		bundle = union(bundle, s.inherited)
	}
	s.cert.Store(cert)
	s.phase = phase
	if equal(bundle, s.bundle) {
		return
	}
	s.bundle = bundle
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// fail records why a step failed, nil for success, and reports whether that is
// new.
func (s *served) fail(err error) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news = err != nil && (s.err == nil || s.err.Error() != err.Error())
	s.err = err
	return news
}
