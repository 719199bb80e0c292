package conformance

import (
	"cmp"
	"maps"
	"slices"
	"testing"
)

// A score counts agreement, overall and by cause.
type score struct {
	what                    string
	judged, agreed, refused int
	kinds                   map[string]bool
	causes                  map[string]int
	examples                map[string]string
}

func newScore(what string) *score {
	return &score{what: what, kinds: map[string]bool{}, causes: map[string]int{}, examples: map[string]string{}}
}

func (s *score) add(kind, cause string, agrees, accepted bool, example func() string) {
	s.judged++
	s.kinds[kind] = true
	if !accepted {
		s.refused++
	}
	if agrees {
		s.agreed++
		return
	}
	s.causes[cause]++
	if s.examples[cause] == "" {
		s.examples[cause] = example()
	}
}

// required is the share of generated objects, in percent, that usher must judge
// as the server of the version does.
func required() float64 {
	if serverVersion.Minor() >= 33 {
		return 99.9
	}
	return 99
}

// report names the causes of disagreement, and fails if agreement is below a
// share, in percent. Refusals that only a cluster can know count against it,
// too.
func (s *score) report(t *testing.T, share float64) {
	t.Helper()
	got := 100 * float64(s.agreed) / float64(max(1, s.judged))
	t.Logf("seed %d: %d %s of %d kinds, %d refused by the server; agreement %.2f %%", *seed, s.judged, s.what, len(s.kinds), s.refused, got)
	for _, cause := range slices.SortedFunc(maps.Keys(s.causes), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.causes[b], s.causes[a]), cmp.Compare(a, b))
	}) {
		t.Logf("%d × %s\n%s", s.causes[cause], cause, s.examples[cause])
	}
	if got < share {
		t.Errorf("agreement is %.2f %%, below %.1f %%", got, share)
	}
}
