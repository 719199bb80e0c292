package differential

import (
	"strings"
	"testing"
)

// TestExplainPredictsWhatTheClusterDoes plays the scenes of fixed seeds: what explain
// and drift say of each is what the API server does. TestEverySurfaceSaysTheSame
// plays many more.
func TestExplainPredictsWhatTheClusterDoes(t *testing.T) {
	s := newStand(t)
	const scenes = 100
	for _, seed := range []uint64{3, 19} {
		b := generate(seed, int(seed), scenes)
		r, err := s.compare(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.compared < scenes/2 {
			t.Errorf("seed %d: only %d scenes were compared", seed, r.compared)
		}
		byName := map[string]*scene{}
		for _, sc := range b.Scenes {
			byName[sc.Name] = sc
		}
		for _, name := range sortedKeys(r.differences) {
			for _, d := range r.differences[name] {
				if sc := byName[name]; strings.HasPrefix(d.Aspect, "explain") || strings.HasPrefix(d.Aspect, "drift") {
					t.Errorf("seed %d: %s\n%s", seed, d, show(b.only(sc)))
				}
			}
		}
	}
}
