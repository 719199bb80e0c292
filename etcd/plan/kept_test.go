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

// TestQuorumLost_OnlyOnceTheDataIsGone lets two of three members be silent while
// their claims are being deleted.
func TestQuorumLost_OnlyOnceTheDataIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  plan.Pod
		lost bool
	}{
		"their pods keep the claims":       {plan.Pod{Exists: true, Sealed: true, Exposed: true}, false},
		"their pods are ending":            {plan.Pod{Exists: true, Ending: true}, false},
		"their pods ended, and are ending": {plan.Pod{Exists: true, Ended: true, Ending: true}, false},
		"their pods ended":                 {plan.Pod{Exists: true, Ended: true}, true},
		"their pods are gone":              {plan.Pod{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(claims("1Gi")))
			o.Now, o.Quorum = now, false
			o.Members[0].Answers, o.Members[0].Leaderless = false, true
			for i := range o.Members[1:] {
				m := &o.Members[1+i]
				m.Answers, m.Pod, m.Claim.Ending = false, tc.pod, true
				m.Unresponsive = &plan.Unresponsive{Since: now.Add(-time.Hour), According: plan.Client | plan.Kubelet}
			}
			p := plan.Next(spec(claims("1Gi")), &o)
			if lost := p.Blocked == plan.QuorumLost; lost != tc.lost {
				t.Errorf("it is lost: %t, %s", lost, p.Message)
			}
		})
	}
}

func TestStillChanged_UntilTheMemberServes(t *testing.T) {
	serving := plan.Settled("c", spec()).Members[0]
	silent := serving
	silent.Answers = false
	for name, tc := range map[string]struct {
		member  plan.Member
		changed bool
		step    *plan.Step
		want    bool
	}{
		"it was changed, and serves":            {serving, true, nil, false},
		"it was changed, and does not answer":   {silent, true, nil, true},
		"it was not changed":                    {silent, false, nil, false},
		"it serves, and is restarted":           {serving, false, &plan.Step{Action: plan.Restart, Member: "c-1"}, true},
		"it serves, and is upgraded":            {serving, false, &plan.Step{Action: plan.Upgrade, Member: "c-1"}, true},
		"it serves, and another is restarted":   {serving, false, &plan.Step{Action: plan.Restart, Member: "c-2"}, false},
		"it does not answer, and is restarted":  {silent, false, &plan.Step{Action: plan.Restart, Member: "c-1"}, false},
		"it serves, and clients are sent to it": {serving, false, &plan.Step{Action: plan.AddToService, Member: "c-1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.member.Changed = tc.changed
			if got := plan.StillChanged(&tc.member, tc.step); got != tc.want {
				t.Errorf("still changed: %t", got)
			}
		})
	}
}
