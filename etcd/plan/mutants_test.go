package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// A mistake is a possible bug in the machine, or in its input. If the walk does
// not detect it, the walk is wrong.
type mistake struct {
	name string
	// shown changes the machine's input, done the step that it decided.
	shown func(*plan.Observation)
	done  func(*v1beta2.ClusterSpec, *plan.Observation, *plan.Step)
	// world changes what the machine cannot observe.
	world func(*world)
	// with are texts in the names of faults that show it; pairs: if they happen
	// before certain steps.
	with  []string
	pairs bool
}

func (m mistake) decide(spec *v1beta2.ClusterSpec, seen *plan.Observation) plan.Plan {
	o := *seen
	o.Members = append([]plan.Member(nil), seen.Members...)
	o.SetAside = append([]plan.SetAside(nil), seen.SetAside...)
	if m.shown != nil {
		m.shown(&o)
	}
	p := plan.Next(spec, &o)
	if m.done != nil && p.Now() != nil {
		m.done(spec, &o, p.Now())
	}
	return p
}

// each changes the input for every member.
func each(change func(*plan.Member)) func(*plan.Observation) {
	return func(o *plan.Observation) {
		for i := range o.Members {
			change(&o.Members[i])
		}
	}
}

// instead replaces one action with another.
func instead(of, to plan.Action) func(*v1beta2.ClusterSpec, *plan.Observation, *plan.Step) {
	return func(_ *v1beta2.ClusterSpec, _ *plan.Observation, s *plan.Step) {
		if s.Action == of {
			s.Action = to
		}
	}
}

// restores are the faults in which a person restores a backup.
var restores = []string{"backup is restored"}

var mistakes = []mistake{
	{name: "what the kubelet says is what etcd answers", shown: each(func(m *plan.Member) {
		if !m.Pod.Ready {
			m.Answers, m.PeersReach = false, false
		}
		if m.Unresponsive != nil {
			m.Unresponsive = &plan.Unresponsive{Since: m.Unresponsive.Since, According: plan.Client | plan.Kubelet}
		}
	})},
	{name: "the client's word is enough", shown: each(func(m *plan.Member) {
		m.PeersReach = false
		if u := m.Unresponsive; u != nil && u.According == plan.Client {
			m.Unresponsive = &plan.Unresponsive{Since: u.Since, According: plan.Client | plan.Kubelet}
		}
	})},
	{name: "the other members are not asked", shown: each(func(m *plan.Member) { m.PeersReach = false })},
	{name: "a restore believes the client alone", with: restores, shown: func(o *plan.Observation) {
		for i := range o.Members {
			if m := &o.Members[i]; o.Restore != nil {
				m.PeersReach, m.Leaderless, m.Refusal, m.Pod.Ready = false, false, "", false
				m.Unresponsive = &plan.Unresponsive{Since: o.Now.Add(-time.Hour), According: plan.Client | plan.Kubelet}
			}
		}
	}},
	{name: "a restore does not wait for members that restart", with: restores, shown: func(o *plan.Observation) {
		for i := range o.Members {
			if m := &o.Members[i]; o.Restore != nil && !m.Answers {
				*m = plan.Member{Name: m.Name, Claim: m.Claim, Pod: plan.Pod{Exists: m.Pod.Exists, Ending: m.Pod.Ending}, Listed: m.Listed, Learner: m.Learner,
					Unresponsive: &plan.Unresponsive{Since: o.Now.Add(-time.Hour), According: plan.Client | plan.Kubelet}}
			}
		}
	}},
	{name: "a member is given up at once", shown: each(func(m *plan.Member) {
		if u := m.Unresponsive; u != nil {
			m.Unresponsive = &plan.Unresponsive{Since: u.Since.Add(-time.Hour), According: u.According}
		}
	})},
	{name: "a member is never given up", shown: each(func(m *plan.Member) { m.Unresponsive = nil })},
	{name: "not responding for long is lost data", shown: func(o *plan.Observation) {
		for i := range o.Members {
			if m := &o.Members[i]; m.Unresponsive != nil && o.Now.Sub(m.Unresponsive.Since) > memberTimeout {
				m.DataGone, m.Answers, m.PeersReach = true, false, false
			}
		}
	}},
	{name: "who does not answer is not counted", shown: func(o *plan.Observation) {
		for i := range o.Members {
			if m := &o.Members[i]; !m.Answers && m.Listed {
				m.Learner = true
			}
		}
	}},
	{name: "who does not answer is not listed", shown: each(func(m *plan.Member) { m.Listed = m.Listed && (m.Answers || !m.Started) })},
	{name: "a change that the controller made is forgotten", shown: each(func(m *plan.Member) {
		m.Changed, m.Pod.Shared = false, false
		if m.Version != (etcd.Version{}) {
			m.Version = m.Target
		}
	})},
	{name: "claims set aside are not counted", with: []string{"claim", "wiped", "node die"}, shown: func(o *plan.Observation) { o.Limits.Unasked = 1000 }},
	{name: "a claim that is being deleted is a claim", shown: each(func(m *plan.Member) { m.Claim.Ending = false })},
	{name: "a claim that is not there is a claim", shown: each(func(m *plan.Member) { m.Claim.Exists = m.Durable })},
	{name: "a member without a claim keeps its data", shown: each(func(m *plan.Member) { m.Durable, m.Claim.Exists = true, true })},
	{name: "a pod that is being deleted is an ordinary one", with: []string{"has its pod deleted"}, pairs: true, shown: each(func(m *plan.Member) { m.Pod.Ending = false })},
	{name: "data that is gone is not noticed", shown: each(func(m *plan.Member) { m.DataGone = false })},
	{name: "a claim of another member is this one's", shown: each(func(m *plan.Member) {
		if m.DataGone && m.Durable {
			m.DataGone, m.Claim.Exists = false, true
		}
	})},
	{name: "a pod counts as sealed", shown: each(func(m *plan.Member) { m.Pod.Sealed = true })},
	{name: "the record of the cluster is not looked at", shown: func(o *plan.Observation) { o.Formed, o.Seed = false, "" }},
	{name: "a cluster whose status is lost is formed", shown: func(o *plan.Observation) {
		if !o.Formed && o.Seed == "" {
			o.Members = nil
		}
	}},
	{name: "the leader goes first", shown: func(o *plan.Observation) {
		for i := range o.Members {
			o.Members[i].Leader = false
		}
		if len(o.Members) > 0 {
			o.Members[len(o.Members)-1].Leader = true
		}
	}},
	{name: "a claim set aside is deleted at once", done: instead(plan.RetainUntil, plan.DeleteClaim)},
	{name: "claims set aside have expired", shown: func(o *plan.Observation) {
		for i := range o.SetAside {
			o.SetAside[i].Until = o.Now
		}
	}},
	{name: "claims set aside are kept for ever", shown: func(o *plan.Observation) { o.SetAside = nil }},
	{name: "every removal was asked for", done: func(_ *v1beta2.ClusterSpec, _ *plan.Observation, s *plan.Step) { s.Cause = plan.Shrunk },
		shown: func(o *plan.Observation) { o.Limits.Unasked = 1000 }},
	{name: "a learner votes before it has caught up", shown: each(func(m *plan.Member) {
		if m.Learner && m.Pod.Exists {
			m.Learner, m.Answers, m.Pod.Ready = false, true, true
		}
	})},
	{name: "a member is restarted where it is to be woken", done: instead(plan.Recover, plan.Restart)},
	{name: "a member is removed where it is to be woken", done: func(_ *v1beta2.ClusterSpec, _ *plan.Observation, s *plan.Step) {
		if s.Action == plan.Recover {
			s.Action, s.Cause = plan.Remove, plan.NotResponding
		}
	}},
	{name: "minor versions are skipped", done: func(spec *v1beta2.ClusterSpec, _ *plan.Observation, s *plan.Step) {
		if s.Action == plan.Settle {
			s.Action = plan.Wait
		}
		if s.Action == plan.Upgrade {
			s.Version = etcd.Version{Major: 3, Minor: 8}
		}
	}},
	{name: "clients are sent to nobody new", done: instead(plan.AddToService, plan.Wait)},
	{name: "what is left of members stays", done: instead(plan.DeletePod, plan.Wait)},
	{name: "members are known by their URLs", world: func(w *world) { w.byURL = true }},
	{name: "a restore ends members before it sets their claims aside", with: restores, done: func(_ *v1beta2.ClusterSpec, o *plan.Observation, s *plan.Step) {
		if o.Restore != nil && s.Action == plan.RetainUntil {
			s.Action = plan.DeletePod
		}
	}},
	{name: "a restore does not prove its member", with: restores, shown: func(o *plan.Observation) {
		if o.Restore != nil {
			o.Restore.Proved = true
		}
	}},
	{name: "a restore does not wait for old members to end", with: restores, shown: func(o *plan.Observation) {
		if o.Restore != nil {
			o.Members = slices.DeleteFunc(o.Members, func(m plan.Member) bool { return m.Pod.Ending })
		}
	}},
	{name: "a restore never gives the cluster back", done: instead(plan.Release, plan.Wait)},
	{name: "claims that a restore keeps are deleted", with: restores, shown: func(o *plan.Observation) {
		for i := range o.SetAside {
			o.SetAside[i].Held = false
		}
	}},
	{name: "waiting is not explained", done: nil},
}

// TestMistakesInTheMachineAreCaught plants each mistake and expects the walk to
// find a world in which it does harm, or is not explained.
func TestMistakesInTheMachineAreCaught(t *testing.T) {
	all := states.Of([][]states.Variant{
		{states.Size(3), states.Size(1)}, {states.Version("3.6.16"), states.Version("3.7.3")}, {states.Claims("1Gi"), states.Claims("")}, {states.Label("a"), states.Label("b")},
	})
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			k := newWalk()
			k.decide, k.begin, k.formed, k.focus = m.decide, m.world, true, m.with
			if m.name == "waiting is not explained" {
				k.decide = func(spec *v1beta2.ClusterSpec, o *plan.Observation) plan.Plan {
					p := plan.Next(spec, o)
					p.Stalled, p.Blocked = nil, ""
					return p
				}
			}
			if m.pairs {
				if err := k.pairs(all, []int{0, 1, 2}, 7); err != nil {
					t.Logf("caught in run %d: %.300v", k.runs, err)
					return
				}
			}
			for seed := range uint64(2500) {
				if err := k.sequence(seed+1, all); err != nil {
					t.Logf("caught in run %d: %.300v", k.runs, err)
					return
				}
			}
			t.Errorf("not caught in %d runs", k.runs)
		})
	}
}
