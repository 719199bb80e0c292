// Package certs provides the serving certificate of the webhook server and the
// CA bundle that the API server trusts it by: self-signed, from cert-manager,
// or from files.
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

// A Source keeps a serving certificate and its CA bundle. A change of the CA is
// handed over without a refused handshake: the new CA is in the bundle first,
// is served from once the API server has had it for a while, and the old one
// leaves the bundle when every replica had time to follow.
type Source interface {
	// Start keeps both current until the context ends. It returns no error for
	// what may mend itself: State tells it, and it is tried again.
	manager.Runnable
	// GetCertificate answers a TLS handshake.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Bundle is the CA bundle in PEM, for the webhook configurations; nil until
	// the first certificate is there.
	Bundle() []byte
	// Changed returns a channel that is closed when the bundle changes next.
	// Take it before Bundle to miss no change.
	Changed() <-chan struct{}
	// State is for readiness and metrics.
	State() State
}

// Follow calls register with the bundle, and again with each that it changes
// to, until the context ends or register fails.
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
	// Hosts are the names and addresses the API server calls.
	Hosts []string
	// Registered returns the CAs by which the API server trusts all of usher's
	// webhooks at present, none where nothing is registered.
	Registered func(context.Context) ([]*x509.Certificate, error)
	// Event records what happened at the source's object; nil for no Events.
	Event func(eventType, reason, note string)
	Clock clock.Clock
	Log   logr.Logger
}

// Lifetimes of certificates. They are renewed when two thirds are over.
type Lifetimes struct {
	CA, Serving time.Duration
	// Overlap is how long a new CA is registered before it is served from, and
	// how long the old one stays registered after. A replica that cannot reach
	// the API server for longer may be left behind.
	Overlap time.Duration
}

// DefaultLifetimes suit production.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{CA: 365 * 24 * time.Hour, Serving: 90 * 24 * time.Hour, Overlap: time.Hour}
}

// Validate tells whether one CA can be handed over to the next in time.
func (l Lifetimes) Validate() error {
	switch {
	case l.CA <= 0 || l.Serving <= 0 || l.Overlap <= 0:
		return fmt.Errorf("lifetimes of CA %s, certificate %s and overlap %s: each must be above zero", l.CA, l.Serving, l.Overlap)
	case l.Serving > l.CA/3:
		return fmt.Errorf("certificate lifetime %s: must be at most a third of the CA's, %s", l.Serving, l.CA)
	case l.Overlap > l.CA/9:
		return fmt.Errorf("CA overlap %s: must be at most a ninth of the CA's lifetime, %s: two of them are within its last third", l.Overlap, l.CA)
	}
	return nil
}

// interval is how often a source looks, unless something wakes it.
func (l Lifetimes) interval() time.Duration {
	return min(time.Minute, l.Overlap/4)
}

// due tells whether two thirds of a certificate's life are over.
func due(cert *x509.Certificate, now time.Time) bool {
	life := cert.NotAfter.Sub(cert.NotBefore)
	if life > skew {
		life -= skew // which issue put before the beginning
	}
	return !now.Before(cert.NotAfter.Add(-life / 3))
}

// retry is how soon a source tries again what failed.
const retry = 5 * time.Second

// patience bounds one look: the API server may hang.
const patience = 30 * time.Second

// keep takes the steps of a source until the context ends: when woken, and at
// least every interval.
func (c *Config) keep(ctx context.Context, wake <-chan struct{}, s *served, step func(context.Context) error) {
	for {
		wait := c.interval()
		bounded, cancel := context.WithTimeout(ctx, patience)
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

// report writes what happened to the log and into an Event.
func (c *Config) report(eventType, reason, note string) {
	c.Log.Info(note, "reason", reason)
	if c.Event != nil {
		c.Event(eventType, reason, note)
	}
}
