package plan_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// tired is how many minutes may pass without a step before a condition must
// explain it: longer than any of the machine's own waits.
const tired = 20

// run runs the world until nothing has happened for a while, and returns for
// how many minutes; at is called before each observation with the number of
// steps.
func (w *world) run(minutes int, at func(steps int)) (idle int) {
	steps := 0
	for range minutes {
		w.tick()
		at(steps)
		idle++
		for i, c := range w.controllers {
			between := func() {}
			if i == 0 && w.random.IntN(3) == 0 {
				between = func() { w.goOn(c) }
			}
			if i+1 < len(w.controllers) && w.random.IntN(3) == 0 { // another one is faster
				between = func() { w.reconcile(w.controllers[i+1], func() {}) }
			}
			step := w.reconcile(c, between)
			if step != nil && step.Action != plan.Wait && !w.waits(step) {
				steps++
				idle = 0
			}
		}
		w.goOn(w.controllers[0])
		if w.violated != nil || idle > 3 && w.settled() == nil {
			break
		}
	}
	return idle
}

// waits reports whether the step only waits for an existing pod.
func (w *world) waits(s *plan.Step) bool {
	switch s.Action {
	case plan.CatchUp, plan.Recover:
		return w.pods[s.Member] != nil
	case plan.Upgrade:
		p := w.pods[s.Member]
		return p == nil || p.target == s.Version
	}
	return s.Action == plan.Settle
}

// told reports whether a condition explains why nothing is done. A restore
// reports its waits in its own status, Available names the step until the
// cluster is formed, Hibernated what it waits for, and InvalidCertificates that the
// Secrets are not usable.
func (w *world) told() bool {
	if w.ca != nil && w.ca.invalid {
		return true
	}
	return w.spec.Hibernated || !w.api.formed() && w.last.Now() != nil || w.last.Blocked != "" || w.last.Stalled != nil || w.restore != nil && !w.restore.done
}

func (w *world) trace() string {
	stalled := plan.Stall{}
	if w.last.Stalled != nil {
		stalled = *w.last.Stalled
	}
	return fmt.Sprintf("\n  %s\n  blocked: %s %s\n  stalled: %+v\n  now: %v", strings.Join(w.events[max(0, len(w.events)-25):], "\n  "), w.last.Blocked, w.last.Message, stalled, w.last.Now())
}

// A walk tests a machine in worlds.
type walk struct {
	decide func(*v1beta2.ClusterSpec, *plan.Observation) plan.Plan
	begin  func(*world) // nil, or what happens to a world first
	// formed has every random sequence begin with a formed cluster, and focus half
	// of its faults have one of these texts in their names.
	formed  bool
	focus   []string
	runs    int
	lost    int
	stalled map[string]int
}

func newWalk() *walk { return &walk{decide: plan.Next, stalled: map[string]int{}} }

// change changes the spec of a settled cluster, with a fault before one of the
// steps, which is healed after an hour.
func (k *walk) change(from, to states.State, at int, f *fault) error {
	k.runs++
	w := settledWorld(from.Spec)
	w.controllers[0].decide = k.decide
	if k.begin != nil {
		k.begin(w)
	}
	w.tick()
	w.reconcile(w.controllers[0], func() {})
	w.spec = to.Spec
	refused := len(plan.Refusals(to.Spec, &w.look(w.controllers[0]).Observation)) > 0
	hit := f == nil
	idle := w.run(45, func(steps int) {
		if !hit && steps >= at {
			hit = f.inject(w)
		}
	})
	if w.violated == nil && idle > tired && w.settled() != nil && !w.told() {
		return fmt.Errorf("nothing was done for %d minutes, and nothing said why: %w%s", idle, w.settled(), w.trace())
	}
	if f != nil && hit {
		f.heal(w)
	}
	members, survivable := len(w.members), w.survivable()
	w.run(150, func(int) {})
	switch err := w.settled(); {
	case w.violated != nil:
		return fmt.Errorf("%w%s", w.violated, w.trace())
	case err == nil:
		return nil
	case refused && w.last.Blocked == plan.RefusedChange:
		return nil
	case !survivable:
		k.lost++
		if len(w.members) != members {
			return fmt.Errorf("%d members were there when the quorum was lost, and %d are%s", members, len(w.members), w.trace())
		}
		return w.lossTold()
	case w.last.Stalled != nil && f != nil && slices.Contains(f.remains, w.last.Stalled.Reason):
		k.stalled[w.last.Stalled.Reason]++
		return nil
	default:
		return fmt.Errorf("%w%s", err, w.trace())
	}
}

// form forms a cluster, with a fault before one of the steps, which is healed
// after a while.
func (k *walk) form(to states.State, at int, f *fault) error {
	k.runs++
	w := newWorld(to.Spec)
	w.controllers[0].decide = k.decide
	hit := false
	w.run(30, func(steps int) {
		if !hit && steps >= at {
			hit = f.inject(w)
		}
	})
	if hit {
		f.heal(w)
	}
	survivable := w.survivable()
	w.run(150, func(int) {})
	switch err := w.settled(); {
	case w.violated != nil:
		return fmt.Errorf("%w%s", w.violated, w.trace())
	case err == nil:
		return nil
	case !survivable || !w.survivable():
		k.lost++
		return w.lossTold()
	case w.last.Stalled != nil && slices.Contains(f.remains, w.last.Stalled.Reason):
		k.stalled[w.last.Stalled.Reason]++
		return nil
	default:
		return fmt.Errorf("%w%s", err, w.trace())
	}
}

// among returns the faults that the walk focuses on, or all if it does not.
func (k *walk) among(all []fault) []fault {
	if len(k.focus) == 0 {
		return all
	}
	var some []fault
	for _, i := range k.focused() {
		some = append(some, all[i])
	}
	return some
}

// pairs tests pairs of states, with every fault before one in that many steps.
func (k *walk) pairs(all []states.State, points []int, every int) error {
	n := 0
	none := []fault{{name: "nothing"}}
	for _, from := range all {
		for _, to := range all {
			for _, f := range append(none, k.among(faults())...) {
				each := points
				fault := &f
				if f.inject == nil {
					each, fault = points[:1], nil
				}
				for _, at := range each {
					if n++; n%every != 0 {
						continue
					}
					if err := k.change(from, to, at, fault); err != nil {
						return fmt.Errorf("%s to %s, before step %d %s: %w", from.Name, to.Name, at, f.name, err)
					}
				}
			}
		}
	}
	return nil
}

func some() []states.State {
	return states.Of([][]states.Variant{
		{states.Size(1), states.Size(3)},
		{states.Version("3.5.35"), states.Version("3.6.16"), states.Version("3.7.3")},
		{states.Claims(""), states.Claims("1Gi")},
		{states.Label("a"), states.Label("b")},
	})
}
