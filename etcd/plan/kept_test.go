package plan_test

import (
	"testing"
	"time"

	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// TestNext_TakesNoStepThatCostsData shows the machine a member that a tempting
// step would harm.
func TestNext_TakesNoStepThatCostsData(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Observation, *plan.Member)
		never  plan.Action
	}{
		"a member that the controller changed is not given up": {func(_ *plan.Observation, m *plan.Member) { m.Changed = true }, plan.Remove},
		"nor one that was told to run what it has never run": {func(_ *plan.Observation, m *plan.Member) {
			m.Target = etcd.Version{Major: 3, Minor: 6, Patch: 99}
		}, plan.Remove},
		"a claim is not deleted while a member is down": {func(o *plan.Observation, m *plan.Member) {
			m.Unresponsive.Since = now
			o.SetAside = []plan.SetAside{{Claim: "old", Until: now.Add(-time.Hour)}}
		}, plan.DeleteClaim},
		"an ended pod keeps a claim that is being deleted": {func(_ *plan.Observation, m *plan.Member) {
			m.Unresponsive.Since = now
			m.Pod.Ended, m.Claim.Ending = true, true
		}, plan.Restart},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(claims("1Gi")))
			o.Now = now
			m := &o.Members[2]
			m.Answers, m.Pod.Ready = false, false
			m.Unresponsive = &plan.Unresponsive{Since: now.Add(-time.Hour), According: plan.Client | plan.Kubelet}
			tc.change(&o, m)
			if step := next(&o, claims("1Gi")); step != nil && step.Action == tc.never {
				t.Errorf("%s", step)
			}
		})
	}
}

// TestRecover_RunsWhatTheDataAllows recreates the pod of a member for an upgrade
// while the data is still in the format of the version before.
func TestRecover_RunsWhatTheDataAllows(t *testing.T) {
	o := plan.Settled("c", spec(claims("2Gi")))
	o.Now, o.StorageVersion = now, etcd.Version{Major: 3, Minor: 5}
	m := &o.Members[2]
	m.Answers, m.Pod = false, plan.Pod{}
	m.Unresponsive = &plan.Unresponsive{Since: now, According: plan.Client | plan.Kubelet}
	step := next(&o, claims("2Gi"), version("3.7.3"))
	if want := (etcd.Version{Major: 3, Minor: 6, Patch: 16}); step == nil || step.Action != plan.Recover || step.Version != want {
		t.Errorf("%+v", step)
	}
}
