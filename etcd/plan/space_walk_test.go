package plan_test

import (
	"testing"
	"time"
)

// TestSpace_WithEditsAndFaults_Converges fills databases in worlds whose members
// crash, lag and are changed meanwhile: no alarm and no scheduled defragmentation
// is left, and no member is defragmented while another one is down or changed.
func TestSpace_WithEditsAndFaults_Converges(t *testing.T) {
	k, start, n := newWalk(), time.Now(), uint64(150)
	for seed := *walkSeed; seed < *walkSeed+n || time.Since(start) < *walkFor/4; seed++ {
		if err := k.sequence(seed, spaced()); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.pairs(spaced(), []int{0, 2}, 97); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sequences in %s, of which %d lost a quorum of data and said so, and %v are stalled", k.runs, time.Since(start).Round(time.Second), k.lost, k.stalled)
}
