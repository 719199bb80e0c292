package certs

import (
	"time"
)

// authorityName is the subject of usher's CAs.
const authorityName = "usher CA"

// plan computes the desired content of the Secret from its current content (nil
// if it does not exist), the keyring that this replica serves with (nil at
// startup) and the CAs that the API server trusts. It returns stored itself if
// nothing changes.
func plan(stored, mine *keyring, registered certificates, now time.Time, l Lifetimes) (*keyring, error) {
	switch {
	case stored == nil && mine == nil:
		return fresh(now, l)
	case stored == nil:
		return restore(mine, now, l)
	case mine != nil && !contains(stored.bundle(), mine.current.cert) && !now.After(mine.current.cert.NotAfter) &&
		contains(registered, mine.current.cert) && !contains(registered, stored.current.cert):
		// Somebody replaced the CA, and the API server does not trust the new one:
		// make it the next CA.
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

// restore recreates a deleted Secret. Deleting it requests another CA, so a
// rotation begins, unless one is in progress.
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

// advance advances the keyring to its next phase, if that is due.
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

// at returns the keyring with another time of its phase.
func (k *keyring) at(since time.Time) *keyring {
	if k.since.Equal(since) {
		return k
	}
	changed := *k
	changed.since = since
	return &changed
}
