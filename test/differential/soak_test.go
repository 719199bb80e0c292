//go:build soak

package differential

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	scenes = flag.Int("scenes", 10000, "how many scenes are played")
	seed   = flag.Uint64("seed", 1, "what the scenes are made of")
	shrink = flag.Bool("shrink", false, "make the first scene of each difference as small as it can be")
)

// TestEverySurfaceSaysTheSame plays generated scenes on a real API server with
// the webhook, and on the command line.
func TestEverySurfaceSaysTheSame(t *testing.T) {
	s := newStand(t)
	start := time.Now()
	signatures := map[string]int{}
	compared, refused, unseen := 0, 0, 0
	injected := map[string]int{}
	for number := 0; compared < *scenes; number++ {
		b := generate(*seed, number, perBatch)
		g := &generator{Rand: rand.New(rand.NewPCG(*seed, ^uint64(number)))}
		var derived []*scene
		r, err := s.compare(t.Context(), b, func(plays map[string]*played) []*scene {
			derived = g.derive(plays)
			return derived
		})
		if err != nil {
			t.Fatalf("batch %d: %v", number, err)
		}
		for feature, count := range r.injected {
			injected[feature] += count
		}
		compared, refused, unseen = compared+r.compared, refused+r.refused, unseen+r.unseen
		byName := map[string]*scene{"": nil}
		for _, sc := range append(b.Scenes, derived...) {
			byName[sc.Name] = sc
		}
		for _, name := range sortedKeys(r.differences) {
			for _, d := range r.differences[name] {
				signature := d.signature()
				if signatures[signature]++; signatures[signature] > 1 {
					continue
				}
				small, sc := b, byName[name]
				if sc != nil {
					small = b.only(sc)
				}
				if *shrink && sc != nil {
					small, d = s.shrink(t.Context(), small, d)
				}
				t.Errorf("%s\n%s", d, show(small))
			}
		}
	}
	for _, signature := range sortedKeys(signatures) {
		t.Logf("%4d × %s", signatures[signature], signature)
	}
	if unseen > compared/100 {
		t.Errorf("in %d of %d scenes the webhook's rules could not look at everything: that is too many to compare without them", unseen, compared)
	}
	for _, feature := range features {
		if injected[feature] < compared/100 {
			t.Errorf("only in %d of %d scenes pods get a template with %s: that is too few to compare", injected[feature], compared, feature)
		}
	}
	t.Logf("scenes whose pods get a template, and with options: %v", injected)
	t.Logf("%d scenes of seed %d in %s, %d more refused by the API server itself, in %d the webhook's rules could not look at everything, %d sorts of differences",
		compared, *seed, time.Since(start).Round(time.Second), refused, unseen, len(signatures))
}
