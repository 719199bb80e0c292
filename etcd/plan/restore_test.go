package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/etcd/plan"
)

// switching runs the switchover to a restored member until nothing is left to
// do, and returns the steps.
func switching(o plan.Observation) (steps []string, blocked plan.Block) {
	for range 20 {
		p := plan.Next(spec(claims("1Gi"), paused), &o)
		step := p.Now()
		if step == nil {
			return steps, p.Blocked
		}
		steps = append(steps, string(step.Action)+" "+step.Member)
		var m *plan.Member
		for i := range o.Members {
			if o.Members[i].Name == step.Member {
				m = &o.Members[i]
			}
		}
		switch step.Action {
		case plan.Reserve:
			o.Restore.Reserved, o.Restore.Acknowledged, o.Restore.Proved = true, true, true
		case plan.RetainUntil:
			m.Claim.Exists, o.Restore.DataMoved = false, true
		case plan.DeletePod:
			m.Pod.Ending = true
		case plan.Wait:
			m.Pod = plan.Pod{}
		case plan.Record:
			o.Restore.Recorded = true
		case plan.Adopt:
			o.Restore.Adopted = true
		case plan.Release:
			return steps, p.Blocked
		}
	}
	return steps, ""
}

func TestARestore_SetsClaimsAsideBeforeAnythingEnds(t *testing.T) {
	old := func(name string) plan.Member {
		return plan.Member{Name: name, Claim: plan.Claim{Exists: true}, Pod: plan.Pod{Exists: true}, Unresponsive: &plan.Unresponsive{}}
	}
	for name, tc := range map[string]struct {
		quorum, living, forced, touched bool
		steps                           []string
		blocked                         plan.Block
	}{
		"of a cluster that is lost": {steps: []string{
			"hold seed", "set aside a", "set aside b", "discard a", "wait a", "discard b", "wait b", "record seed", "adopt seed", "yield seed",
		}},
		"of a cluster that has come back":         {quorum: true, blocked: plan.ClusterRunning},
		"of a cluster that answers everyone else": {living: true, blocked: plan.ClusterRunning},
		"of a cluster that works, by force": {quorum: true, forced: true, steps: []string{
			"hold seed", "set aside a", "set aside b", "discard a", "wait a", "discard b", "wait b", "record seed", "adopt seed", "yield seed",
		}},
		"goes on where it began": {quorum: true, touched: true, steps: []string{
			"hold seed", "set aside a", "set aside b", "discard a", "wait a", "discard b", "wait b", "record seed", "adopt seed", "yield seed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Observation{Now: time.Unix(0, 0), Formed: true, Quorum: tc.quorum, Members: []plan.Member{old("a"), old("b")}, Restore: &plan.Restore{Name: "back", Seed: "seed", Forced: tc.forced, DataMoved: tc.touched}}
			for i := range o.Members {
				o.Members[i].Pod.Ready = tc.living
			}
			steps, blocked := switching(o)
			if diff := cmp.Diff(tc.steps, steps); diff != "" || blocked != tc.blocked {
				t.Errorf("blocked %q, steps (-want +got):\n%s", blocked, diff)
			}
		})
	}
}

func TestRetainedClaims_AreAdoptedOnlyWhenAsked(t *testing.T) {
	for adopt, want := range map[plan.Adoption]struct {
		action  plan.Action
		blocked plan.Block
	}{
		plan.AdoptUndecided: {blocked: plan.RetainedClaims},
		plan.AdoptClaims:    {action: plan.Adopt},
		plan.IgnoreClaims:   {action: plan.NameFirstMember},
	} {
		p := plan.Next(spec(), &plan.Observation{Retained: []string{"c-1", "c-2"}, Adopt: adopt})
		var action plan.Action
		if p.Now() != nil {
			action = p.Now().Action
		}
		if action != want.action || p.Blocked != want.blocked {
			t.Errorf("%q: %s, blocked %q", adopt, action, p.Blocked)
		}
	}
}

// TestTheFormerClusterIsNotMixedWithANewOne has what a former cluster has left.
func TestTheFormerClusterIsNotMixedWithANewOne(t *testing.T) {
	for name, tc := range map[string]struct {
		seen    plan.Observation
		action  plan.Action
		blocked plan.Block
		message string
	}{
		"claims that cannot be adopted": {
			seen:    plan.Observation{Retained: []string{"c-1"}, Adopt: plan.AdoptClaims, Unadoptable: "why"},
			blocked: plan.RetainedClaims, message: "the cluster cannot adopt the claims of a former cluster of this name: why",
		},
		"claims that cannot be adopted, and that nobody asks for": {
			seen:   plan.Observation{Retained: []string{"c-1"}, Adopt: plan.IgnoreClaims, Unadoptable: "why"},
			action: plan.NameFirstMember,
		},
		"members that run": {
			seen:   plan.Observation{Retained: []string{"c-1"}, Orphans: []string{"c-1"}, Adopt: plan.AdoptClaims},
			action: plan.Adopt,
		},
		"members that run, and are to be ignored": {
			seen:    plan.Observation{Retained: []string{"c-1"}, Orphans: []string{"c-1"}, Adopt: plan.IgnoreClaims},
			blocked: plan.RetainedClaims, message: "pods of a former cluster of this name run: c-1; delete them: clients of the new cluster would reach them",
		},
		"members that run without claims": {
			seen:    plan.Observation{Orphans: []string{"c-1"}},
			blocked: plan.RetainedClaims, message: "pods of a former cluster of this name run: c-1; delete them: clients of the new cluster would reach them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan.Next(spec(), &tc.seen)
			var action plan.Action
			if p.Now() != nil {
				action = p.Now().Action
			}
			if action != tc.action || p.Blocked != tc.blocked || p.Message != tc.message {
				t.Errorf("%s, blocked %q: %q", action, p.Blocked, p.Message)
			}
		})
	}
}
