package plan_test

import (
	"strings"
	"testing"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// TestADigestOfAnotherVersion_StopsChanges: a member runs, by the digest in the
// spec, another version than it was told to run.
func TestADigestOfAnotherVersion_StopsChanges(t *testing.T) {
	other := func(m *plan.Member) {
		m.Version, m.Pod.Digest = etcd.Version{Major: 3, Minor: 6, Patch: 15}, "a"
	}
	asked := spec(size(5), claims("1Gi"), digest("3.6.16", "a"))
	seen := plan.Settled("c", spec(claims("1Gi"), digest("3.6.16", "a")))
	if p := plan.Next(asked, &seen); p.Stalled != nil || p.Now() == nil || p.Now().Action != plan.AddLearner {
		t.Errorf("while the versions agree, the step is %v, and %v", p.Now(), p.Stalled)
	}
	other(&seen.Members[1])
	p := plan.Next(asked, &seen)
	if p.Stalled == nil || p.Stalled.Reason != plan.StallImage || p.Now().Action != plan.Wait ||
		!strings.HasPrefix(p.Stalled.Message, "c-2 was told to run 3.6.16, and etcd reports 3.6.15") {
		t.Errorf("the step is %v, and %v", p.Now(), p.Stalled)
	}
	// The kubelet still runs the old image.
	late := seen.Members[1]
	late.Pod.Digest = ""
	seen.Members[1] = late
	if p := plan.Next(asked, &seen); p.Stalled != nil {
		t.Errorf("before the container runs the digest, it stalls: %v", p.Stalled)
	}
	other(&seen.Members[1])
	if p := plan.Next(spec(claims("1Gi"), digest("3.6.16", "b")), &seen); p.Stalled != nil || p.Now() == nil || p.Now().Action != plan.Upgrade || p.Now().Member != "c-2" {
		t.Errorf("with another digest the step is %v, and %v", p.Now(), p.Stalled)
	}
	if p := plan.Next(spec(claims("1Gi"), version("3.6.15"), digest("3.6.15", "a")), &seen); p.Stalled != nil {
		t.Errorf("with the version that it reports, it stalls: %v", p.Stalled)
	}
	down(&seen.Members[1])
	if p := plan.Next(asked, &seen); p.Stalled != nil && p.Stalled.Reason == plan.StallImage {
		t.Errorf("a member that does not answer says nothing about its image: %v", p.Stalled)
	}
}
