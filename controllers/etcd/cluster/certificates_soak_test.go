//go:build soak

package cluster_test

import (
	"testing"

	"github.com/usher-dev/usher/test/pki"
)

// TestTheCAChangesThreeTimes_UnderLoad writes the Secrets of another CA three
// times, of which the last is the first one again.
func TestTheCAChangesThreeTimes_UnderLoad(t *testing.T) {
	s := newScene(t)
	first, _ := s.encrypted(3)
	was := s.names()
	var others []*pki.PKI
	for range 2 {
		p, err := pki.New(s.namespace, s.name)
		s.must(err)
		others = append(others, p)
	}
	w := pki.NewWallet(first, others...)
	s.secure = w.Client()
	l := s.write()
	for _, to := range append(others, first) {
		s.changesCA(w, to, 3)
	}
	l.verify()
	if now := s.names(); !equal(was, now) {
		t.Errorf("members were replaced: %v, now %v", was, now)
	}
}
