package plan_test

import (
	"testing"
	"time"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
)

// alive are the signs of life, one at a time.
var alive = map[string]func(*plan.Member){
	"it answers":                        func(m *plan.Member) { m.Answers = true },
	"it answers without a leader":       func(m *plan.Member) { m.Leaderless = true },
	"it refuses the client":             func(m *plan.Member) { m.Refusal = "etcd's authentication is enabled" },
	"another member hears it":           func(m *plan.Member) { m.PeersReach = true },
	"another hears it, without its pod": func(m *plan.Member) { m.PeersReach, m.Pod = true, plan.Pod{} },
	"its kubelet says that it is ready": func(m *plan.Member) { m.Pod.Ready = true },
}

// lifeless are what is not a sign of life.
var lifeless = map[string]func(*plan.Member){
	"nothing":                           func(*plan.Member) {},
	"a pod that is not ready":           func(m *plan.Member) { m.Pod.Ready = false },
	"a ready pod that is being deleted": func(m *plan.Member) { m.Pod.Ready, m.Pod.Ending = true, true },
	"a ready pod that has ended":        func(m *plan.Member) { m.Pod.Ready, m.Pod.Ended = true, true },
	"no pod":                            func(m *plan.Member) { m.Pod = plan.Pod{Ready: true} },
	"an answer for another cluster":     func(m *plan.Member) { m.Stranger = true },
}

// silent returns a voter of which no witness says anything good for that long.
func silent(name string, since time.Duration) plan.Member {
	return plan.Member{
		Name: name, Listed: true, Started: true, Pod: plan.Pod{Exists: true},
		Unresponsive: &plan.Unresponsive{Since: now.Add(-since), According: plan.Client | plan.Kubelet},
	}
}

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestLives(t *testing.T) {
	for want, signs := range map[bool]map[string]func(*plan.Member){true: alive, false: lifeless} {
		for name, sign := range signs {
			t.Run(name, func(t *testing.T) {
				m := silent("a", time.Hour)
				sign(&m)
				if m.Lives() != want {
					t.Errorf("it lives: %t", m.Lives())
				}
			})
		}
	}
}

func TestMayHaveQuorum(t *testing.T) {
	const timeout = 5 * time.Minute
	learner := silent("l", time.Hour)
	learner.Learner, learner.Answers = true, true
	living := silent("x", time.Hour)
	living.Refusal = "a refusal"
	left := living
	left.Listed = false
	for name, tc := range map[string]struct {
		living int
		silent []time.Duration
		others []plan.Member
		quorum bool
		want   bool
	}{
		"nothing is left":                          {},
		"one of one":                               {living: 1, want: true},
		"none of one":                              {silent: []time.Duration{time.Hour}},
		"one of three":                             {living: 1, silent: []time.Duration{time.Hour, time.Hour}},
		"two of three":                             {living: 2, silent: []time.Duration{time.Hour}, want: true},
		"two of five":                              {living: 2, silent: []time.Duration{time.Hour, time.Hour, time.Hour}},
		"three of five":                            {living: 3, silent: []time.Duration{time.Hour, time.Hour}, want: true},
		"two of four":                              {living: 2, silent: []time.Duration{time.Hour, time.Hour}},
		"one silent for less than the timeout":     {living: 1, silent: []time.Duration{time.Hour, timeout - time.Second}, want: true},
		"one silent for the timeout":               {living: 1, silent: []time.Duration{time.Hour, timeout}},
		"a learner does not count":                 {living: 1, silent: []time.Duration{time.Hour, time.Hour}, others: []plan.Member{learner}},
		"a member that left does not count":        {living: 1, silent: []time.Duration{time.Hour, time.Hour}, others: []plan.Member{left, left}},
		"a majority answered, whatever is counted": {silent: []time.Duration{time.Hour, time.Hour, time.Hour}, quorum: true, want: true},
		"without a list, every member counts":      {others: []plan.Member{left, left}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Observation{Now: now, Limits: plan.Limits{MemberTimeout: timeout}, Quorum: tc.quorum, Members: tc.others}
			for range tc.living {
				o.Members = append(o.Members, living)
			}
			for _, since := range tc.silent {
				o.Members = append(o.Members, silent("s", since))
			}
			if got := o.MayHaveQuorum(); got != tc.want {
				t.Errorf("it may have a quorum: %t", got)
			}
		})
	}
}

func TestServing_NeedsProof(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Observation)
		want   string
	}{
		"nobody says anything": {func(*plan.Observation) {}, ""},
		"a majority answers":   {func(o *plan.Observation) { o.Quorum = true }, "a majority of the members"},
		"a majority answers, with an alarm": {func(o *plan.Observation) {
			o.Quorum, o.Alarms = true, map[plan.Alarm][]string{plan.NoSpace: {"a"}}
		}, ""},
		"a kubelet calls a voter ready, with an alarm": {func(o *plan.Observation) {
			o.Members[1].Pod.Ready, o.Alarms = true, map[plan.Alarm][]string{plan.Corrupt: {"a"}}
		}, ""},
		"a kubelet calls a voter ready":   {func(o *plan.Observation) { o.Members[1].Pod.Ready = true }, "the kubelet of b"},
		"a kubelet calls a learner ready": {func(o *plan.Observation) { o.Members[1].Pod.Ready, o.Members[1].Learner = true, true }, ""},
		"every member refuses":            {func(o *plan.Observation) { o.Members[0].Refusal, o.Members[1].Refusal = "no", "no" }, ""},
		"every member answers without a leader": {func(o *plan.Observation) {
			o.Members[0].Leaderless, o.Members[1].Leaderless = true, true
		}, ""},
		"members hear each other": {func(o *plan.Observation) { o.Members[0].PeersReach, o.Members[1].PeersReach = true, true }, ""},
		"the ready one answers for another cluster": {func(o *plan.Observation) {
			o.Members[1].Pod.Ready, o.Members[1].Stranger = true, true
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Observation{Now: now, Members: []plan.Member{silent("a", time.Hour), silent("b", time.Hour)}}
			tc.change(&o)
			if got := o.Serving(); got != tc.want {
				t.Errorf("it serves according to %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAMemberThatLives_IsNeverRemoved shows every sign of life to a machine that
// has every other reason to remove a member. A kubelet's word needs a pod.
func TestAMemberThatLives_IsNeverRemoved(t *testing.T) {
	reasons := map[string]func(*plan.Member){
		"it is silent for long": func(*plan.Member) {},
		"its data is gone":      func(m *plan.Member) { m.DataGone = true },
		"its claim is gone":     func(m *plan.Member) { m.Durable, m.Claim, m.Pod = true, plan.Claim{}, plan.Pod{ID: m.Pod.ID} },
		"its pod has ended, with its claim": func(m *plan.Member) {
			m.Durable, m.Claim, m.Pod.Ended, m.DataGone = true, plan.Claim{}, true, true
		},
	}
	for why, reason := range reasons {
		for name, sign := range alive {
			t.Run(why+", and "+name, func(t *testing.T) {
				o := plan.Settled("c", spec(claims("1Gi")))
				o.Now = now
				m := &o.Members[2]
				m.Answers, m.Pod.Ready = false, false
				m.Unresponsive = &plan.Unresponsive{Since: now.Add(-time.Hour), According: plan.Client | plan.Kubelet}
				reason(m)
				if step := next(&o, claims("1Gi")); step == nil || step.Action != plan.Remove {
					t.Fatalf("without a sign of life: %v", step)
				}
				sign(m)
				if step := next(&o, claims("1Gi")); m.Lives() && step != nil && step.Action == plan.Remove {
					t.Errorf("%s", step)
				}
			})
		}
	}
}

func next(o *plan.Observation, edits ...func(*v1beta2.ClusterSpec)) *plan.Step {
	p := plan.Next(spec(edits...), o)
	return p.Now()
}

// TestUnresponsive_StartsAgainWithEveryChange changes one thing that a witness
// says, and which pod it says it of.
func TestUnresponsive_StartsAgainWithEveryChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Member)
		starts bool
	}{
		"nothing":                  {func(*plan.Member) {}, false},
		"another text of the same": {func(m *plan.Member) { m.Pod.Message = "another" }, false},
		"a refusal":                {func(m *plan.Member) { m.Refusal = "a refusal" }, true},
		"an answer, leaderless":    {func(m *plan.Member) { m.Leaderless = true }, true},
		"the other members":        {func(m *plan.Member) { m.PeersReach = true }, true},
		"the kubelet":              {func(m *plan.Member) { m.Pod.Ready = true }, true},
		"the client":               {func(m *plan.Member) { m.Answers = true }, true},
		"another pod":              {func(m *plan.Member) { m.Pod.ID = "another" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var memory plan.Memory
			o := plan.Observation{Now: now, Members: []plan.Member{{Name: "a", Pod: plan.Pod{ID: "one", Exists: true}}}}
			memory.Update(&o)
			o.Now = now.Add(time.Minute)
			tc.change(&o.Members[0])
			memory.Update(&o)
			if u := o.Members[0].Unresponsive; u == nil || u.Since.Equal(o.Now) != tc.starts {
				t.Errorf("since %v", u)
			}
		})
	}
}

// TestARemnantThatTakesPart_IsNotDiscarded has pods of a member that etcd lists
// by another name.
func TestARemnantThatTakesPart_IsNotDiscarded(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Member)
		want   plan.Action
	}{
		"nobody sees it":          {func(*plan.Member) {}, plan.DeletePod},
		"it answers":              {func(m *plan.Member) { m.Answers = true }, ""},
		"another member hears it": {func(m *plan.Member) { m.PeersReach = true }, ""},
		"its kubelet says so":     {func(m *plan.Member) { m.Pod.Ready = true }, ""},
		"it has no leader":        {func(m *plan.Member) { m.Leaderless = true }, plan.DeletePod},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec())
			left := silent("left", time.Hour)
			left.Listed = false
			tc.change(&left)
			o.Members = append(o.Members, left)
			var got plan.Action
			if step := next(&o); step != nil {
				got = step.Action
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestTheLimitOfReplacements_CountsOnlyAutomaticOnes of this cluster.
func TestTheLimitOfReplacements_CountsOnlyAutomaticOnes(t *testing.T) {
	for name, tc := range map[string]struct {
		aside   plan.SetAside
		stalled bool
	}{
		"replaced automatically":       {plan.SetAside{Cause: plan.NotResponding}, true},
		"nothing says why":             {plan.SetAside{Cause: plan.Unknown}, true},
		"a smaller size":               {plan.SetAside{Cause: plan.Shrunk}, false},
		"removed by a person":          {plan.SetAside{Cause: plan.RemovedByHand}, false},
		"replaced in a former cluster": {plan.SetAside{Cause: plan.NotResponding, Former: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(claims("1Gi")))
			o.Now = now
			m := &o.Members[2]
			m.Answers, m.Pod.Ready = false, false
			m.Unresponsive = &plan.Unresponsive{Since: now.Add(-time.Hour), According: plan.Client | plan.Kubelet}
			for range plan.DefaultUnasked {
				o.SetAside = append(o.SetAside, tc.aside)
				o.SetAside[len(o.SetAside)-1].Until = now.Add(time.Hour)
			}
			p := plan.Next(spec(claims("1Gi")), &o)
			if stalled := p.Stalled != nil && p.Stalled.Reason == plan.StallLimit; stalled != tc.stalled || !stalled && p.Now().Action != plan.Remove {
				t.Errorf("%v, stalled: %v", p.Now(), p.Stalled)
			}
		})
	}
}

// TestASlowMember_IsNotUnreachable has a member that the controller does not hear,
// and its kubelet does.
func TestASlowMember_IsNotUnreachable(t *testing.T) {
	for want, late := range map[string]bool{plan.StallSlow: true, plan.StallUnreachable: false} {
		o := plan.Settled("c", spec())
		o.Now = now
		m := &o.Members[2]
		m.Answers, m.Late, m.Unresponsive = false, late, &plan.Unresponsive{Since: now.Add(-time.Hour), According: plan.Client}
		if p := plan.Next(spec(), &o); p.Stalled == nil || p.Stalled.Reason != want {
			t.Errorf("late: %t, stalled: %v", late, p.Stalled)
		}
	}
}
