package plan

import (
	"fmt"

	"github.com/usher-dev/usher/policies/etcd"
)

// reattach takes the mark off claims that are to be deleted and whose member etcd
// lists.
func (d *decision) reattach() *Step {
	for _, s := range d.SetAside {
		if s.Listed {
			return &Step{Action: Reattach, Member: s.Claim, Why: "etcd lists its member"}
		}
	}
	return nil
}

// discard ends what is left of members that etcd does not list any more, as a
// majority knows: their pods first, then their claims are set aside.
func (d *decision) discard() *Step {
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case m.Listed || m.works():
		case m.Pod.Exists && !m.Pod.Ending:
			return &Step{Action: Discard, Member: m.Name, Why: "it is not a member any more"}
		case !m.Pod.Exists && m.Claim.Exists && !m.Claim.Ending:
			return &Step{Action: SetAsideClaim, Member: m.Name, Cause: m.Leaving, Why: "it is not a member any more"}
		}
	}
	return nil
}

// expire deletes a claim that was set aside for long enough, while the cluster is
// whole: until then it might be wanted.
func (d *decision) expire() *Step {
	for m := range d.listed {
		if !m.Ready() {
			return nil
		}
	}
	for _, s := range d.SetAside {
		if !s.Listed && !s.Held && !s.Until.After(d.Now) {
			return &Step{Action: Delete, Member: s.Claim, Why: "it was set aside until " + s.Until.UTC().Format("2006-01-02 15:04:05")}
		}
	}
	return nil
}

// remove takes a member out of the cluster: not without the majority of those
// that are left, and on the controller's own judgement only while few claims have
// been set aside for it.
func (d *decision) remove(m *Member, cause Cause, why string) *Step {
	voters, healthy := d.Observation.voters()
	if m.voting() {
		voters--
		if m.Healthy() {
			healthy--
		}
	}
	switch {
	case healthy < etcd.Quorum(voters):
		return wait(m, fmt.Sprintf("does not remove %s: %d of %d voters would answer", m.Name, healthy, voters))
	case cause.Asked() || !m.Claim.Exists && !m.Claim.Other || m.Claim.Ending || d.unasked() < d.Limits.Unasked:
		return &Step{Action: Remove, Member: m.Name, Cause: cause, Why: why}
	}
	return d.stalled(StallLimit, fmt.Sprintf("%s is to be replaced, and %d claims of members that were replaced without being asked for are set aside already: "+
		"no other is replaced until a person has looked; delete the claims set aside that are not needed", m.Name, d.unasked()))
}
