package plan

import (
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

// reattach unmarks claims that are marked for deletion although etcd lists
// their member.
func (d *decision) reattach() *Step {
	for _, s := range d.SetAside {
		if s.Listed {
			return &Step{Action: Unretain, Member: s.Claim, Why: "etcd lists its member"}
		}
	}
	return nil
}

// discard removes what is left of members that are no longer in etcd's list,
// according to a quorum: it deletes their pods first, then sets their claims
// aside.
func (d *decision) discard() *Step {
	for i := range d.Members {
		m := &d.Members[i]
		switch {
		case m.Listed || m.takesPart(): // etcd may list it by another name
		case m.Pod.Exists && !m.Pod.Ending:
			return &Step{Action: DeletePod, Member: m.Name, Why: "it left the cluster"}
		case !m.Pod.Exists && m.Claim.Exists && !m.Claim.Ending:
			return &Step{Action: RetainUntil, Member: m.Name, Cause: m.Leaving, Why: "it left the cluster"}
		}
	}
	return nil
}

// expire deletes a claim that was set aside for long enough. It comes last: while
// a member is not ready, the repairs return a step, because the claim might be
// needed.
func (d *decision) expire() *Step {
	for _, s := range d.SetAside {
		if !s.Listed && !s.Held && !s.Until.After(d.Now) {
			return &Step{Action: DeleteClaim, Member: s.Claim, Why: "it was set aside until " + s.Until.UTC().Format("2006-01-02 15:04:05")}
		}
	}
	return nil
}

// remove removes a member from the cluster: only with a majority of the
// remaining ones, and automatically only while few claims are set aside for it.
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
		return wait(m, fmt.Sprintf("does not remove %s, because only %d of %d voters would answer", m.Name, healthy, voters))
	case cause.Asked() || !m.Claim.Exists && !m.Claim.Other || m.Claim.Ending || d.unasked() < d.Limits.Unasked:
		return &Step{Action: Remove, Member: m.Name, Cause: cause, Why: why}
	}
	return d.stalled(StallLimit, fmt.Sprintf("%s needs a replacement, but %d claims of automatically replaced members are already set aside: "+
		"usher replaces no other member until somebody has looked; delete the claims that are not needed", m.Name, d.unasked()))
}
