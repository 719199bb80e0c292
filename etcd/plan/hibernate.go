package plan

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Asleep reports whether the spec hibernates the cluster, and no pod of it is
// left.
func Asleep(spec *v1beta2.ClusterSpec, o *Observation) bool {
	return (&wanted{ClusterSpec: spec}).asleep(o)
}

// asleep reports the same. A cluster that does not exist yet sleeps unless it is
// being formed.
func (w *wanted) asleep(o *Observation) bool {
	return w.Hibernated && (o.Formed || o.Seed == "") && !slices.ContainsFunc(o.Members, func(m Member) bool { return m.Pod.Exists })
}

// maySleep reports whether every pod can be deleted without data. Otherwise the
// cluster is run as ever: the repairs may give the member a claim.
func (d *decision) maySleep() bool {
	for i := range d.Members {
		m := &d.Members[i]
		left := d.decides() && !m.Listed // its data is that of no member
		switch {
		case !m.Pod.Exists || left:
		case !m.Durable:
			d.refuseSleep(m, "keeps its data in its pod, and would lose it: write spec.pod.persistentVolumeClaimSpec, and usher replaces the members with ones that have claims")
			return false
		case m.Claim.Ending || !m.Claim.Exists:
			d.refuseSleep(m, "has a claim that is being deleted or does not exist, and only its pod keeps its data")
			return false
		}
	}
	return true
}

func (d *decision) refuseSleep(m *Member, why string) {
	d.blocked(RefusedHibernation, fmt.Sprintf("spec.hibernated is true, and the cluster does not sleep: %s %s", m.Name, why))
}

// hibernate deletes the pods of all members, the leader's last. It keeps what the
// members start with again: their claims and their places in etcd's list. While a
// majority works, it first finishes what was begun with a learner, because the
// cluster must not wake with a member about which its status is not certain.
func (d *decision) hibernate() *Step {
	if d.decides() {
		phases := []func() *Step{d.reattach, d.discard}
		if d.learning() {
			phases = append(phases, d.seal, d.wake, d.lost, d.learner, d.down)
		}
		for _, phase := range phases {
			if step := phase(); step != nil {
				return step
			}
		}
	}
	var next, ending *Member
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case !m.Pod.Exists:
		case m.Pod.Ending:
			ending = m
		case next == nil || next.Leader:
			next = m
		}
	}
	if next != nil {
		return &Step{Action: Stop, Member: next.Name, Why: "spec.hibernated is true"}
	}
	return wait(ending, fmt.Sprintf("waits until the pod of %s has ended, to hibernate the cluster", ending.Name))
}

// learning reports whether etcd lists a learner.
func (d *decision) learning() bool {
	for m := range d.listed {
		if m.Learner {
			return true
		}
	}
	return false
}
