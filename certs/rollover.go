package certs

import (
	"crypto/tls"
	"time"
)

// A rollover serves certificates that another process issues. A certificate
// whose CA the API server may not trust yet waits while the previous one
// serves, as in the phases of a keyring.
type rollover struct {
	serving *tls.Certificate
	ca      certificates
	// pending waits until the API server has pendingCA for the overlap, which it
	// has had since announced.
	pending   *tls.Certificate
	pendingCA certificates
	announced time.Time
	// retired CAs stay in the bundle until other replicas have had time to follow.
	retired      certificates
	retiredUntil time.Time
}

// offer accepts a certificate from the issuer.
func (h *rollover) offer(pair *tls.Certificate, ca certificates, now time.Time, overlap time.Duration) {
	switch {
	case h.serving == nil:
		h.serving, h.ca = pair, ca
	case signer(pair, h.ca) != nil: // an ordinary renewal, or the same certificate
		if !equal(ca, h.ca) {
			h.retire(now.Add(overlap))
		}
		h.serving, h.ca, h.pending, h.pendingCA = pair, ca, nil, nil
	case h.pending == nil || !h.pending.Leaf.Equal(pair.Leaf) || !equal(ca, h.pendingCA):
		h.pending, h.pendingCA, h.announced = pair, ca, time.Time{}
	}
}

// advance starts serving the offered certificate when it is time.
func (h *rollover) advance(registered certificates, now time.Time, overlap time.Duration) {
	switch {
	case h.pending == nil:
		if now.After(h.retiredUntil) {
			h.retired = nil
		}
	case now.After(h.serving.Leaf.NotAfter), !h.announced.IsZero() && now.Sub(h.announced) >= overlap && signer(h.pending, registered) != nil:
		h.retire(now.Add(overlap))
		h.serving, h.ca, h.pending, h.pendingCA = h.pending, h.pendingCA, nil, nil
	case signer(h.pending, registered) == nil:
		h.announced = time.Time{}
	case h.announced.IsZero():
		h.announced = now
	}
}

func (h *rollover) retire(until time.Time) {
	h.retired, h.retiredUntil = h.ca, until
}

func (h *rollover) bundle() certificates {
	return union(union(h.ca, h.pendingCA), h.retired)
}

func (h *rollover) phase() string {
	switch {
	case h.pending != nil && h.announced.IsZero():
		return "announcing"
	case h.pending != nil:
		return "announced"
	case len(union(h.ca, h.retired)) > len(h.ca):
		return "retiring"
	}
	return "stable"
}

// take offers a pair, advances the rollover and publishes its state. Without a
// readable pair the last one keeps serving.
func (h *rollover) take(c *Config, s *served, pair *tls.Certificate, ca, registered certificates) {
	now := c.Clock.Now()
	if h.serving == nil && pair == nil {
		return
	}
	if h.serving == nil {
		s.inherit(registered, now.Add(c.Overlap))
	}
	before, was := h.serving, h.phase()
	if pair != nil {
		h.offer(pair, ca, now, c.Overlap)
	}
	h.advance(registered, now, c.Overlap)
	if is := h.phase(); before != nil && is != was {
		c.report("Normal", "CAChanged", "CA bundle: "+is)
	}
	if before == nil || !before.Leaf.Equal(h.serving.Leaf) {
		c.Log.Info("serving a new certificate", "until", h.serving.Leaf.NotAfter)
	}
	s.publish(h.serving, h.bundle(), h.phase(), now)
}
