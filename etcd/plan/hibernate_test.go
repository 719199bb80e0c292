package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

func hibernated(s *v1beta2.ClusterSpec) { s.Hibernated = true }

// asleep is a cluster whose members have no pods, and are silent for the first
// time.
func asleep(o *plan.Observation) {
	o.Quorum = false
	for i := range o.Members {
		m := &o.Members[i]
		m.Answers, m.Leader, m.Pod = false, false, plan.Pod{}
		m.Unresponsive = &plan.Unresponsive{Since: o.Now, According: plan.Client | plan.Kubelet}
	}
}

func TestPlansOfHibernation(t *testing.T) {
	on := claims("1Gi")
	tests := map[string]struct {
		from, to *v1beta2.ClusterSpec
		seen     []func(*plan.Observation)
		steps    []string
		blocked  plan.Block
	}{
		"the leader stops last": {
			from: spec(on), to: spec(on, hibernated),
			steps: []string{
				"stop c-2, whose claim stays: spec.hibernated is true [0]",
				"stop c-3, whose claim stays: spec.hibernated is true [-1]",
				"stop c-1, whose claim stays: spec.hibernated is true [-2]",
			},
			blocked: plan.Hibernated,
		},
		"the size changes after the waking": {
			from: spec(on), to: spec(on, hibernated, size(5)), seen: []func(*plan.Observation){asleep},
			blocked: plan.Hibernated,
		},
		"all members wake without waiting for each other, then the cluster grows": {
			from: spec(on), to: spec(on, size(4)), seen: []func(*plan.Observation){asleep},
			steps: []string{
				"restart c-1 on its data [-1, -2 meanwhile]",
				"restart c-2 on its data [0, -1 meanwhile]",
				"restart c-3 on its data [1, 0 meanwhile]",
				"add (new 1) at 3.6.16 as a learner: 3 of 4 members vote [1]",
				"wait until (new 1) has caught up [1]",
				"let (new 1) vote [1]",
			},
		},
		"a learner votes first": {
			from: spec(on), to: spec(on, hibernated), seen: []func(*plan.Observation){member(3, func(m *plan.Member) { m.Learner, m.Pod.Exposed = true, false })},
			steps: []string{
				"let c-3 vote [1, 0 meanwhile]",
				"stop c-2, whose claim stays: spec.hibernated is true [0]",
				"stop c-3, whose claim stays: spec.hibernated is true [-1]",
				"stop c-1, whose claim stays: spec.hibernated is true [-2]",
			},
			blocked: plan.Hibernated,
		},
		"without a quorum it sleeps, too": {
			from: spec(on), to: spec(on, hibernated), seen: []func(*plan.Observation){member(1, down), member(2, down), func(o *plan.Observation) { o.Quorum = false }},
			steps: []string{
				"stop c-1, whose claim stays: spec.hibernated is true [-1]",
				"stop c-2, whose claim stays: spec.hibernated is true [-1]",
				"stop c-3, whose claim stays: spec.hibernated is true [-2]",
			},
			blocked: plan.Hibernated,
		},
		"without claims it does not sleep, and is run as ever": {
			from: spec(), to: spec(hibernated, size(4)),
			steps: []string{
				"add (new 1) at 3.6.16 as a learner: 3 of 4 members vote [1]",
				"wait until (new 1) has caught up [1]",
				"let (new 1) vote [1]",
			},
			blocked: plan.RefusedHibernation,
		},
		"a member whose claim is being deleted is replaced first": {
			from: spec(on), to: spec(on, hibernated), seen: []func(*plan.Observation){member(2, func(m *plan.Member) { m.Claim.Ending = true })},
			steps: []string{
				"add (new 1) at 3.6.16 as a learner: to replace c-2, whose claim is being deleted [1]",
				"wait until (new 1) has caught up [1]",
				"let (new 1) vote [1]",
				"remove c-2: a member from the current spec replaces it [1]",
				"stop c-3, whose claim stays: spec.hibernated is true [0]",
				"stop (new 1), whose claim stays: spec.hibernated is true [-1]",
				"stop c-1, whose claim stays: spec.hibernated is true [-2]",
			},
			blocked: plan.Hibernated,
		},
		"a cluster that does not exist is not formed": {from: nil, to: spec(on, hibernated), blocked: plan.Hibernated},
		"a cluster that is being formed is formed first": {
			from: nil, to: spec(on, hibernated), seen: []func(*plan.Observation){func(o *plan.Observation) { o.Seed = "c-1" }},
			steps: []string{
				"form the cluster with c-1 at 3.6.16 [0, -1 meanwhile]",
				"stop c-1, whose claim stays: spec.hibernated is true [-1]",
			},
			blocked: plan.Hibernated,
		},
		"a paused cluster does not change": {from: spec(on), to: spec(on, hibernated, paused), blocked: plan.Paused},
		"a sleeping cluster needs no Secret": {
			from: spec(on), to: spec(on, hibernated), seen: []func(*plan.Observation){asleep, func(o *plan.Observation) { o.Missing = "the Secret" }},
			blocked: plan.Hibernated,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var seen plan.Observation
			if tc.from != nil {
				seen = plan.Settled("c", tc.from)
			}
			for _, edit := range tc.seen {
				edit(&seen)
			}
			p := plan.Make(tc.to, &seen)
			if diff := cmp.Diff(tc.steps, withMargins(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if p.Blocked != tc.blocked || (p.Blocked == "") != (p.Message == "") {
				t.Errorf("blocked %q: %q", p.Blocked, p.Message)
			}
		})
	}
}

// TestHibernate_KeepsData states the first step of three members that are to sleep.
// A member whose data only its pod has keeps the cluster awake, unless its data is
// that of no member.
func TestHibernate_KeepsData(t *testing.T) {
	unlisted := func(m *plan.Member) { m.Listed, m.Durable = false, false }
	noQuorum := func(o *plan.Observation) {
		o.Quorum = false
		for i := range o.Members {
			down(&o.Members[i])
		}
	}
	for name, tc := range map[string]struct {
		seen    []func(*plan.Observation)
		step    string
		blocked plan.Block
	}{
		"a claim that does not exist":         {[]func(*plan.Observation){member(2, func(m *plan.Member) { m.Claim.Exists = false })}, "add (new 1)", plan.RefusedHibernation},
		"a claim that is being deleted":       {[]func(*plan.Observation){member(2, func(m *plan.Member) { m.Claim.Ending = true })}, "add (new 1)", plan.RefusedHibernation},
		"a member without a claim":            {[]func(*plan.Observation){member(2, func(m *plan.Member) { m.Durable = false })}, "", plan.RefusedHibernation},
		"a member without a claim and a pod":  {[]func(*plan.Observation){member(2, func(m *plan.Member) { m.Durable, m.Answers, m.Pod = false, false, plan.Pod{} })}, "stop c-3", ""},
		"what is left of a removed member":    {[]func(*plan.Observation){member(2, unlisted)}, "stop c-2", ""},
		"it may be a member without a quorum": {[]func(*plan.Observation){noQuorum, member(2, unlisted)}, "", plan.RefusedHibernation},
		"a learner without a quorum":          {[]func(*plan.Observation){noQuorum, member(3, func(m *plan.Member) { m.Learner = true })}, "stop c-1", ""},
		"pods that are ending":                {[]func(*plan.Observation){noQuorum, member(1, ending), member(2, ending), member(3, ending)}, "waits until the pod of c-3 has ended, to hibernate the cluster", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := plan.Settled("c", spec(claims("1Gi")))
			for _, edit := range tc.seen {
				edit(&o)
			}
			p := plan.Next(spec(claims("1Gi"), hibernated), &o)
			step := ""
			if p.Now() != nil {
				step = p.Now().String()
			}
			if tc.step != "" && !strings.HasPrefix(step, tc.step) || tc.step == "" && strings.HasPrefix(step, "stop") || p.Blocked != tc.blocked {
				t.Errorf("the step is %q, and blocked is %q; want %q and %q", step, p.Blocked, tc.step, tc.blocked)
			}
		})
	}
}

// TestHibernate_WaitsForNoDefragmentation holds that one that is due does not count as
// kept from being made.
func TestHibernate_WaitsForNoDefragmentation(t *testing.T) {
	scheduled := func(s *v1beta2.ClusterSpec) {
		s.Space = &v1beta2.SpacePolicy{Defragmentation: &v1beta2.Defragmentation{Schedule: "0 3 * * *"}}
	}
	o := plan.Settled("c", spec(claims("1Gi"), scheduled))
	o.Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	o.Space.Due = o.Now.Add(-time.Minute)
	if p := plan.Next(spec(claims("1Gi"), scheduled, hibernated), &o); p.Now().Action != plan.Stop || p.SpaceStalled != nil {
		t.Errorf("the step is %s, and the stall %+v", p.Now(), p.SpaceStalled)
	}
}

func ending(m *plan.Member) { m.Pod.Ending = true }

// TestSleepIsNotSilence holds that nobody is given up, and that no restore takes
// over, because of the time that a cluster slept.
func TestSleepIsNotSilence(t *testing.T) {
	o := plan.Settled("c", spec(claims("1Gi")))
	asleep(&o)
	var memory plan.Memory
	for range 10 {
		o.Now = o.Now.Add(plan.DefaultMemberTimeout)
		o.Dormant = plan.Asleep(spec(claims("1Gi"), hibernated), &o)
		memory.Update(&o)
	}
	o.Dormant = false
	o.Now = o.Now.Add(plan.DefaultMemberTimeout - 1)
	memory.Update(&o)
	if !o.MayHaveQuorum() {
		t.Error("a restore may replace a cluster that has just begun to wake")
	}
	o.Now = o.Now.Add(1)
	if memory.Update(&o); o.MayHaveQuorum() {
		t.Error("a cluster that does not wake may have a quorum forever")
	}
}

// sleeps describes what is not as in a cluster that sleeps.
func (w *world) sleeps() error {
	for name, p := range w.pods {
		return fmt.Errorf("the pod of %s is left (being deleted: %v)", name, p.ending)
	}
	if w.last.Blocked != plan.Hibernated {
		return fmt.Errorf("the plan does not say that the cluster sleeps")
	}
	return nil
}

// sleepWalk has a cluster sleep and wake as another one, with a fault before a
// step of either, which is healed later.
func (k *walk) sleepWalk(from, to states.State, at int, waking bool, f *fault) error {
	k.runs++
	w := settledWorld(from.Spec)
	w.controllers[0].decide = k.decide
	w.run(3, func(int) {})
	asleep, names := from.Spec.DeepCopy(), w.names()
	asleep.Hibernated = true
	hit := f == nil
	during := func(is bool) func(int) {
		return func(steps int) {
			if !hit && is && steps >= at {
				hit = f.inject(w)
			}
		}
	}
	w.spec = asleep
	w.run(45, during(!waking))
	if f != nil && hit && !waking {
		f.heal(w)
	}
	survivable := w.survivable()
	w.run(150, func(int) {})
	if err := w.settled(); err != nil && w.violated == nil && survivable && w.last.Stalled == nil {
		return fmt.Errorf("it does not sleep: %w%s", err, w.trace())
	}
	if f == nil || waking {
		if is := w.names(); !slices.Equal(names, is) {
			return fmt.Errorf("the members were %v, and are %v%s", names, is, w.trace())
		}
		for _, name := range names {
			if !w.hasData(name) {
				return fmt.Errorf("%s has lost its data%s", name, w.trace())
			}
		}
	}
	w.spec = to.Spec
	w.run(45, during(waking))
	if f != nil && hit {
		f.heal(w)
	}
	survivable = survivable && w.survivable()
	w.run(200, func(int) {})
	switch err := w.settled(); {
	case w.violated != nil:
		return fmt.Errorf("%w%s", w.violated, w.trace())
	case err == nil:
		return nil
	case w.last.Blocked == plan.RefusedChange:
		return nil
	case !survivable:
		k.lost++
		return w.lossTold()
	case w.last.Stalled != nil && f != nil && slices.Contains(f.remains, w.last.Stalled.Reason):
		k.stalled[w.last.Stalled.Reason]++
		return nil
	default:
		return fmt.Errorf("%w%s", err, w.trace())
	}
}

func (w *world) names() (all []string) {
	for _, n := range w.members {
		all = append(all, n.name)
	}
	return all
}

// sleepers are states that can sleep.
func sleepers() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)},
		{states.Version("3.6.16"), states.Version("3.7.3")},
		{states.Claims("1Gi"), states.Claims("2Gi")},
		{states.Label("a"), states.Label("b")},
	})
}

// TestClustersSleepAndWake has every state sleep and wake as every other one,
// with faults.
func TestClustersSleepAndWake(t *testing.T) {
	k, n, every := newWalk(), 0, 97
	if *walkFor > 0 {
		every = 1
	}
	for _, from := range sleepers() {
		for _, to := range sleepers() {
			if err := k.sleepWalk(from, to, 0, false, nil); err != nil {
				t.Fatalf("%s to %s: %v", from.Name, to.Name, err)
			}
			for _, f := range faults() {
				for _, at := range []int{0, 1, 2} {
					for _, waking := range []bool{false, true} {
						if n++; n%every != 0 {
							continue
						}
						if err := k.sleepWalk(from, to, at, waking, &f); err != nil {
							t.Fatalf("%s to %s, before step %d (waking: %v) %s: %v", from.Name, to.Name, at, waking, f.name, err)
						}
					}
				}
			}
		}
	}
	t.Logf("%d runs: %d lost the quorum with their data; stalled in the end: %v", k.runs, k.lost, k.stalled)
}

// TestRandomSequencesOfSleep mixes sleep with every other edit.
func TestRandomSequencesOfSleep(t *testing.T) {
	all := states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)},
		{states.Version("3.6.16"), states.Version("3.7.3")},
		{states.Claims(""), states.Claims("1Gi")},
		{states.Label("a"), states.Hibernated()},
	})
	k, start := newWalk(), time.Now()
	for seed := *walkSeed; seed < *walkSeed+300 || time.Since(start) < *walkFor; seed++ {
		if err := k.sequence(seed, all); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs: %d lost the quorum with their data; stalled in the end: %v", k.runs, k.lost, k.stalled)
}
