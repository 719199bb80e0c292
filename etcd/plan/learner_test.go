package plan_test

import (
	"testing"
	"time"

	"github.com/usher-dev/usher/etcd/plan"
)

// TestLearner_IsPromotedOrGivenUp changes one thing about the learner of a cluster that
// lacks its third voter.
func TestLearner_IsPromotedOrGivenUp(t *testing.T) {
	silent := func(m *plan.Member, since time.Duration) {
		m.Answers, m.Pod.Ready = false, false
		m.Unresponsive = &plan.Unresponsive{Since: now.Add(-since), According: plan.Client | plan.Kubelet}
	}
	for name, tc := range map[string]struct {
		change func(o *plan.Observation, learner *plan.Member)
		want   plan.Action
	}{
		"it answers":                              {func(*plan.Observation, *plan.Member) {}, plan.Promote},
		"it answers, and could form a cluster":    {func(_ *plan.Observation, m *plan.Member) { m.Pod.Sealed = false }, plan.PinInitialState},
		"it has been silent as long as a voter":   {func(o *plan.Observation, m *plan.Member) { silent(m, o.Limits.MemberTimeout) }, plan.CatchUp},
		"it has been silent for three times that": {func(o *plan.Observation, m *plan.Member) { silent(m, 3*o.Limits.MemberTimeout) }, plan.Remove},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(claims("1Gi")))
			o.Now, o.Limits.MemberTimeout = now, time.Minute
			m := &o.Members[2]
			m.Learner = true
			tc.change(&o, m)
			if step := next(&o, claims("1Gi")); step == nil || step.Action != tc.want {
				t.Errorf("got %v, want %s", step, tc.want)
			}
		})
	}
}
