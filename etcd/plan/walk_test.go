package plan_test

import (
	"flag"
	"testing"
	"time"

	"github.com/usher-dev/usher/etcd/plan/states"
)

var (
	walkFor  = flag.Duration("walk", 0, "walk every pair of states with every fault before every early step, and random sequences for as long (default a sample)")
	walkSeed = flag.Uint64("seed", 1, "seed of the random sequences")
)

func TestEveryPairOfStates_WithEveryFault_Converges(t *testing.T) {
	k, start := newWalk(), time.Now()
	points, every := []int{2}, 97
	if *walkFor > 0 {
		points, every = []int{0, 1, 2, 3, 5, 8}, 1
	}
	if err := k.pairs(some(), points, every); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs in %s, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, time.Since(start).Round(time.Second), k.lost, k.stalled)
}

func TestFormation_WithEveryFaultBeforeEveryStep_Converges(t *testing.T) {
	k := newWalk()
	for _, to := range states.Of([][]states.Variant{{states.Size(1), states.Size(3)}, {states.Version("3.6.16")}, {states.Claims(""), states.Claims("1Gi")}}) {
		for _, f := range faults() {
			for at := range 6 {
				if err := k.form(to, at, &f); err != nil {
					t.Fatalf("%s, before step %d %s: %v", to.Name, at, f.name, err)
				}
			}
		}
	}
	t.Logf("%d runs, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, k.lost, k.stalled)
}

func TestRandomSequences_OfEditsAndFaults_Converge(t *testing.T) {
	k, start, n := newWalk(), time.Now(), uint64(300)
	for seed := *walkSeed; seed < *walkSeed+n || time.Since(start) < *walkFor; seed++ {
		if err := k.sequence(seed, some()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d sequences in %s, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, time.Since(start).Round(time.Second), k.lost, k.stalled)
}
