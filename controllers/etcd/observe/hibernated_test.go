package observe

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestTheSilenceOfAClusterThatSleeps_BeginsWithItsWaking holds that a restore may
// not replace a cluster because of the time that it slept, and that no data counts
// as lost meanwhile.
func TestTheSilenceOfAClusterThatSleeps_BeginsWithItsWaking(t *testing.T) {
	p := parts()
	clear(p.Pods)
	p.Answers, p.List = nil, List{}
	delete(p.Claims, "b")
	p.Cluster.Spec.Hibernated = true
	var history History
	look := func(at time.Time) *Observed {
		o := FromParts(p, at)
		history.Update(types.NamespacedName{Name: "example"}, &o.Observation)
		return o
	}
	at := now
	for range 5 {
		at = at.Add(p.Limits.MemberTimeout)
		if o := look(at); !o.MayHaveQuorum() || o.ByName("a").DataGone || o.ByName("b").DataGone {
			t.Fatalf("after %s of sleep the cluster is taken for lost: %+v", at.Sub(now), o.Members)
		}
	}
	p.Cluster.Spec.Hibernated = false
	if o := look(at.Add(p.Limits.MemberTimeout - 1)); !o.MayHaveQuorum() {
		t.Error("a cluster that begins to wake is taken for lost")
	}
	if o := look(at.Add(p.Limits.MemberTimeout)); o.MayHaveQuorum() {
		t.Error("a cluster that does not wake is never taken for lost")
	}
}
