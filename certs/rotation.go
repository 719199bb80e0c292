package certs

import (
	"time"
)

// authorityName is the subject of usher's CAs.
const authorityName = "usher CA"

// plan decides what the Secret is to hold, from what it holds (nil where there
// is none), what this replica serves from (nil at the start) and the CAs the
// API server has. What it returns is stored itself where nothing is to change.
func plan(stored, mine *keyring, registered certificates, now time.Time, l Lifetimes) (*keyring, error) {
	switch {
	case stored == nil && mine == nil:
		return fresh(now, l)
	case stored == nil:
		return restore(mine, now, l)
	case mine != nil && !contains(stored.bundle(), mine.current.cert) && !now.After(mine.current.cert.NotAfter) &&
		contains(registered, mine.current.cert) && !contains(registered, stored.current.cert):
		// Somebody replaced the CA, and the API server does not know that one:
		// take it for the next.
		return &keyring{current: mine.current, next: stored.current}, nil
	}
	return advance(stored, registered, now, l)
}

func fresh(now time.Time, l Lifetimes) (*keyring, error) {
	ca, err := newAuthority(authorityName, now, l.CA)
	if err != nil {
		return nil, err
	}
	return &keyring{current: ca}, nil
}

// restore brings a deleted Secret back. Who deleted it wants another CA: the
// change to that begins, if none is under way.
func restore(mine *keyring, now time.Time, l Lifetimes) (*keyring, error) {
	if mine.next != nil || mine.previous != nil {
		return mine, nil
	}
	next, err := newAuthority(authorityName, now, l.CA)
	if err != nil {
		return nil, err
	}
	return &keyring{current: mine.current, next: next}, nil
}

// advance takes the keyring to its next phase, if that is due.
func advance(k *keyring, registered certificates, now time.Time, l Lifetimes) (*keyring, error) {
	expired := now.After(k.current.cert.NotAfter)
	over := !k.since.IsZero() && now.Sub(k.since) >= l.Overlap
	switch {
	case k.next != nil && expired: // nothing to overlap with
		return &keyring{current: k.next}, nil
	case k.next != nil && !contains(registered, k.next.cert):
		return k.at(time.Time{}), nil
	case k.next != nil && over:
		return &keyring{current: k.next, previous: k.current.cert, since: now}, nil
	case k.previous != nil && over:
		return &keyring{current: k.current}, nil
	case k.next != nil || k.previous != nil:
		if k.since.IsZero() || k.since.Sub(now) > skew { // or a clock was far ahead
			return k.at(now), nil
		}
		return k, nil
	case expired:
		return fresh(now, l)
	case due(k.current.cert, now):
		return restore(k, now, l)
	}
	return k, nil
}

// at is the keyring with another time of its phase.
func (k *keyring) at(since time.Time) *keyring {
	if k.since.Equal(since) {
		return k
	}
	changed := *k
	changed.since = since
	return &changed
}
