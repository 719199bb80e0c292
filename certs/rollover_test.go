package certs

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHandover(t *testing.T) {
	a, b := authorityAt(t, begin), authorityAt(t, begin)
	issue := func(by *authority, lifetime time.Duration) *tls.Certificate {
		t.Helper()
		cert, err := by.issue([]string{"usher"}, begin, lifetime)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	a1, a2, b1 := issue(a, 10*time.Hour), issue(a, 20*time.Hour), issue(b, 30*time.Hour)
	names := map[string]string{a1.Leaf.SerialNumber.String(): "a1", a2.Leaf.SerialNumber.String(): "a2", b1.Leaf.SerialNumber.String(): "b1"}
	onlyA, onlyB, both := certificates{a.cert}, certificates{b.cert}, certificates{a.cert, b.cert}

	type look struct {
		at         time.Duration
		pair       *tls.Certificate
		ca         certificates
		registered certificates
		serving    string
		bundle     int
		phase      string
	}
	tests := map[string][]look{
		"an ordinary renewal serves at once": {
			{0, a1, onlyA, nil, "a1", 1, "stable"},
			{time.Hour, a2, onlyA, onlyA, "a2", 1, "stable"},
		},
		"a new CA is announced, served from and the old one retired": {
			{0, a1, onlyA, nil, "a1", 1, "stable"},
			{1 * time.Hour, b1, onlyB, onlyA, "a1", 2, "announcing"},
			{2 * time.Hour, b1, onlyB, both, "a1", 2, "announced"},
			{3*time.Hour - 1, b1, onlyB, both, "a1", 2, "announced"},
			{3 * time.Hour, b1, onlyB, both, "b1", 2, "retiring"},
			{4 * time.Hour, b1, onlyB, both, "b1", 2, "retiring"},
			{4*time.Hour + 1, b1, onlyB, both, "b1", 1, "stable"},
		},
		"a reverted registration restarts the wait": {
			{0, a1, onlyA, nil, "a1", 1, "stable"},
			{1 * time.Hour, b1, onlyB, both, "a1", 2, "announced"},
			{2 * time.Hour, b1, onlyB, onlyA, "a1", 2, "announcing"},
			{3 * time.Hour, b1, onlyB, both, "a1", 2, "announced"},
		},
		"an expired certificate waits for nothing": {
			{0, a1, onlyA, nil, "a1", 1, "stable"},
			{11 * time.Hour, b1, onlyB, onlyA, "b1", 2, "retiring"},
		},
		"a change taken back leaves nothing": {
			{0, a1, onlyA, nil, "a1", 1, "stable"},
			{1 * time.Hour, b1, onlyB, both, "a1", 2, "announced"},
			{2 * time.Hour, a2, onlyA, both, "a2", 1, "stable"},
		},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			h := &rollover{}
			for _, l := range looks {
				now := begin.Add(l.at)
				h.offer(l.pair, l.ca, now, time.Hour)
				h.advance(l.registered, now, time.Hour)
				got := look{l.at, nil, nil, nil, names[h.serving.Leaf.SerialNumber.String()], len(h.bundle()), h.phase()}
				want := look{l.at, nil, nil, nil, l.serving, l.bundle, l.phase}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(look{})); diff != "" {
					t.Errorf("after %s (-want +got):\n%s", l.at, diff)
				}
			}
		})
	}
}
