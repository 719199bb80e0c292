package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/usher-dev/usher/etcd/plan"
	"github.com/usher-dev/usher/etcd/plan/states"
)

// sequence applies random edits and faults, several at a time, heals all of
// them, and expects the cluster to match the last edit, or a reason why not.
func (k *walk) sequence(seed uint64, all []states.State) (err error) {
	k.runs++
	random := rand.New(rand.NewPCG(seed, 7))
	from := all[random.IntN(len(all))]
	w := settledWorld(from.Spec)
	if !k.formed && random.IntN(4) == 0 { // before it is formed
		w = newWorld(from.Spec)
	}
	w.random = random
	w.controllers[0].decide = k.decide
	if k.begin != nil {
		k.begin(w)
	}
	story := []string{from.Name}
	if !w.api.formed() {
		story[0] += ", not formed"
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("seed %d: %w\n  %v", seed, err, story)
		}
	}()
	w.run(1+random.IntN(5), func(int) {})
	var active []fault
	remains := []string{plan.StallLimit}
	edited := false
	focused := k.focused()
	pick := func() int {
		if len(focused) > 0 && random.IntN(2) == 0 {
			return focused[random.IntN(len(focused))]
		}
		return random.IntN(len(faults()))
	}
	if random.IntN(5) == 0 { // what fails once fails again
		same := pick()
		pick = func() int { return same }
	}
	for range 2 + random.IntN(5) {
		if random.IntN(3) == 0 {
			to := all[random.IntN(len(all))]
			if len(plan.Refusals(to.Spec, &w.look(w.controllers[0]).Observation)) == 0 {
				w.spec, edited = to.Spec, true
				story = append(story, "edit "+to.Name)
			}
		}
		f := faults()[pick()]
		if f.inject(w) {
			active = append(active, f)
			remains = append(remains, f.remains...)
			story = append(story, f.name)
		}
		w.run(1+random.IntN(25), func(int) {})
		if len(active) > 0 && random.IntN(2) == 0 {
			active[0].heal(w)
			story = append(story, "no longer: "+active[0].name)
			active = active[1:]
		}
	}
	if random.IntN(3) == 0 {
		if idle := w.run(45, func(int) {}); w.violated == nil && idle > tired && w.settled() != nil && !w.told() {
			return fmt.Errorf("nothing was done for %d minutes, and nothing said why: %w%s", idle, w.settled(), w.trace())
		}
	}
	for _, f := range active {
		f.heal(w)
	}
	survivable := w.survivable()
	w.run(300, func(int) {})
	err = w.settled()
	switch {
	case w.violated != nil:
		return fmt.Errorf("%w%s", w.violated, w.trace())
	case err == nil:
		return w.expired()
	case len(w.last.Refusals) > 0 && edited && w.leader() != nil:
		return nil
	case !survivable || !w.survivable(): // every other loss of data is a violation
		k.lost++
		return w.lossTold()
	case w.last.Stalled != nil && slices.ContainsFunc(w.members, func(n *node) bool { return w.tooNew(n.name) }):
		k.stalled["a version that nobody saw run"]++ // and that a person has to write again
		return nil
	case w.last.Stalled != nil && w.mountsUsers():
		k.stalled["a pod that mounts the user's Secrets"]++
		return nil
	case w.last.Stalled != nil && slices.Contains(remains, w.last.Stalled.Reason):
		k.stalled[w.last.Stalled.Reason]++
		return nil
	}
	return fmt.Errorf("%w%s", err, w.trace())
}

// focused returns the faults that the walk focuses on.
func (k *walk) focused() []int {
	var all []int
	for i, f := range faults() {
		if slices.ContainsFunc(k.focus, func(text string) bool { return strings.Contains(f.name, text) }) {
			all = append(all, i)
		}
	}
	return all
}

// expired advances the time until every claim that was set aside is deleted. A
// cluster that sleeps keeps them, because its members do not answer.
func (w *world) expired() error {
	if w.last.Blocked == plan.Hibernated {
		return nil
	}
	for range int(claimGrace/minute) + 20 {
		w.tick()
		for _, c := range w.controllers {
			w.reconcile(c, func() {})
		}
	}
	for name, c := range w.claims {
		if c.aside != nil && w.violated == nil {
			return fmt.Errorf("the claim of %s is set aside for ever%s", name, w.trace())
		}
	}
	return w.violated
}

// lossTold reports whether a condition says that the quorum is permanently
// lost.
func (w *world) lossTold() error {
	if w.restore != nil && !w.restore.done || w.last.Blocked == plan.QuorumLost || w.last.Stalled != nil && w.last.Stalled.Reason == plan.StallStatusLost {
		return nil
	}
	if !w.api.formed() && w.last.Stalled != nil {
		return nil // a first member that lost its data before it served
	}
	return fmt.Errorf("the quorum is lost for good, and nothing says so%s", w.trace())
}
