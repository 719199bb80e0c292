// Package certs provides the serving certificate of the webhook server and the
// CA bundle with which the API server verifies it: self-signed, from
// cert-manager, or from files.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Source provides a serving certificate and its CA bundle. It rotates the CA
// without failed handshakes: the new CA is first added to the bundle, then used
// once the API server has had it for a while, and the old one is removed from
// the bundle after every replica had time to follow.
type Source interface {
	// Start keeps both current until the context ends. It returns no temporary
	// errors: State reports them, and Start retries.
	manager.Runnable
	// GetCertificate answers a TLS handshake.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Bundle returns the CA bundle in PEM, for the webhook configurations; nil
	// before the first certificate.
	Bundle() []byte
	// Changed returns a channel that is closed when the bundle changes next. Call
	// it before Bundle to miss no change.
	Changed() <-chan struct{}
	// State is for readiness and metrics.
	State() State
}

// Follow calls register with the bundle, and again after each change, until the
// context ends or register fails.
func Follow(ctx context.Context, s Source, register func(bundle []byte) error) error {
	for {
		changed := s.Changed()
		if bundle := s.Bundle(); len(bundle) > 0 {
			if err := register(bundle); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// Config is what every source needs.
type Config struct {
	Lifetimes
	// Hosts are the names and addresses that the API server calls.
	Hosts []string
	// Registered returns the CAs with which the API server currently trusts all of
	// usher's webhooks, or none without a registration.
	Registered func(context.Context) ([]*x509.Certificate, error)
	// Event records an event on the source's object; nil records none.
	Event func(eventType, reason, note string)
	Clock clock.Clock
	Log   logr.Logger
}

// Lifetimes of certificates. They are renewed after two thirds.
type Lifetimes struct {
	CA, Serving time.Duration
	// Overlap is how long a new CA is registered before usher serves with it, and
	// how long the old one stays registered afterwards. A replica that cannot
	// reach the API server for longer may be left behind.
	Overlap time.Duration
}

// DefaultLifetimes are for production.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{CA: 365 * 24 * time.Hour, Serving: 90 * 24 * time.Hour, Overlap: time.Hour}
}

// Validate reports lifetimes that are too short to rotate the CA in time.
func (l Lifetimes) Validate() error {
	switch {
	case l.CA <= 0 || l.Serving <= 0 || l.Overlap <= 0:
		return fmt.Errorf("lifetimes of CA %s, certificate %s and overlap %s: each must be above zero", l.CA, l.Serving, l.Overlap)
	case l.Serving > l.CA/3:
		return fmt.Errorf("certificate lifetime %s: must be at most a third of the CA's, %s", l.Serving, l.CA)
	case l.Overlap > l.CA/9:
		return fmt.Errorf("CA overlap %s: must be at most a ninth of the CA's lifetime, %s: two of them must fit into its last third", l.Overlap, l.CA)
	}
	return nil
}

// interval is how often a source checks, unless something wakes it.
func (l Lifetimes) interval() time.Duration {
	return min(time.Minute, l.Overlap/4)
}

// due reports whether two thirds of a certificate's lifetime are over.
func due(cert *x509.Certificate, now time.Time) bool {
	life := cert.NotAfter.Sub(cert.NotBefore)
	if life > skew {
		life -= skew // which issue put before the start
	}
	return !now.Before(cert.NotAfter.Add(-life / 3))
}

// retry is how soon a source retries after a failure.
const retry = 5 * time.Second

// stepTimeout limits one step: the API server may hang.
const stepTimeout = 30 * time.Second

// keep runs the steps of a source until the context ends: when woken, and at
// least every interval.
func (c *Config) keep(ctx context.Context, wake <-chan struct{}, s *served, step func(context.Context) error) {
	for {
		wait := c.interval()
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		err := step(bounded)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait = min(wait, retry)
		}
		if s.fail(err) {
			c.report("Warning", "CertificateNotCurrent", err.Error())
		}
		timer := c.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// report records what happened in the log and as an Event.
func (c *Config) report(eventType, reason, note string) {
	c.Log.Info(note, "reason", reason)
	if c.Event != nil {
		c.Event(eventType, reason, note)
	}
}
