package plan_test

import (
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
)

// reach reports whether two parties can reach each other.
func (w *world) reach(a, b string) bool {
	if a > b {
		a, b = b, a
	}
	return a == b || !w.cut[[2]string{a, b}] && w.accept(a, b)
}

// process returns where a member's process runs, or nil: in its pod, or where its
// pod was until it was deleted by force.
func (w *world) process(name string) *pod {
	if p := w.pods[name]; p != nil && p.up {
		return p
	}
	return w.orphans[name]
}

// runs reports whether a member's process runs and is not suspended.
func (w *world) runs(name string) bool { return w.process(name) != nil && !w.frozen[name] }

func (w *world) voters() (all []*node) {
	for _, n := range w.members {
		if !n.learner {
			all = append(all, n)
		}
	}
	return all
}

// group returns the voters that a voter agrees with: itself and those that it
// can reach.
func (w *world) group(n *node) (group []*node) {
	if !w.runs(n.name) {
		return nil
	}
	for _, other := range w.voters() {
		if w.runs(other.name) && w.reach(n.name, other.name) {
			group = append(group, other)
		}
	}
	return group
}

func (w *world) leader() *node {
	for _, n := range w.members {
		if n.leader && !n.learner && len(w.group(n)) >= etcd.Quorum(len(w.voters())) {
			return n
		}
	}
	return nil
}

// takesPart reports whether a member runs and can reach the leader.
func (w *world) takesPart(name string) bool {
	l := w.leader()
	return l != nil && w.runs(name) && w.member(name) != nil && w.reach(name, l.name)
}

// exchange has members send each other heartbeats.
func (w *world) exchange() {
	for _, from := range w.members {
		for _, to := range w.members {
			if from != to && w.runs(from.name) && w.runs(to.name) && w.reach(from.name, to.name) {
				w.traffic[observe.Link{To: to.name, From: observe.Hex(from.id)}]++
			}
		}
	}
}

// elect elects a voter that others vote for, which are those without later
// writes. Among the candidates it selects the one with the fewest writes.
func (w *world) elect() {
	var best *node
	for _, n := range w.members {
		n.leader = false
	}
	for _, n := range w.voters() {
		votes := 0
		for _, other := range w.group(n) {
			if w.process(other.name).disk.has <= w.process(n.name).disk.has {
				votes++
			}
		}
		if votes >= etcd.Quorum(len(w.voters())) && (best == nil || w.process(n.name).disk.has < w.process(best.name).disk.has) {
			best = n
		}
	}
	if best == nil {
		return
	}
	best.leader = true
	if has := w.process(best.name).disk.has; has < w.acknowledged {
		w.violate("acknowledged writes are lost: %d were, and %s, which leads, has %d", w.acknowledged, best.name, has)
	}
}

// write acknowledges a write by the leader and the minimum number of others, in
// turn.
func (w *world) write() {
	if w.space.alarm {
		return
	}
	all, leader := w.voters(), w.leader()
	acked := []*node{leader}
	turn := w.random.IntN(len(all))
	for i := range all {
		if n := all[(i+turn)%len(all)]; len(acked) < etcd.Quorum(len(all)) && n != leader && w.runs(n.name) && w.reach(n.name, leader.name) {
			acked = append(acked, n)
		}
	}
	if len(acked) < etcd.Quorum(len(all)) {
		return
	}
	w.acknowledged++
	w.space.said = w.space.history
	for _, n := range acked {
		w.process(n.name).disk.has = w.acknowledged
	}
}

// replicate brings one member up to date, in turn, so that most lag.
func (w *world) replicate() {
	leader := w.leader()
	turn := w.random.IntN(len(w.members))
	for i := range w.members {
		n := w.members[(i+turn)%len(w.members)]
		if w.runs(n.name) && w.reach(n.name, leader.name) && w.process(n.name).disk.has < w.acknowledged-1 {
			w.process(n.name).disk.has = w.acknowledged
			return
		}
	}
}
