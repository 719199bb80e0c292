package plan

import (
	"cmp"
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

func (d *decision) grow() *Step {
	if d.voters >= d.Size || d.frozen {
		return nil
	}
	return &Step{Action: AddLearner, Version: d.joining(), Why: fmt.Sprintf("%d of %d members vote", d.voters, d.Size)}
}

// joining returns the version of a new member: one that is known to run here.
func (d *decision) joining() etcd.Version {
	return cmp.Or(d.Newest(), d.target())
}

// target returns the version that members should run: the spec's, or if that is
// refused the highest current one.
func (d *decision) target() etcd.Version {
	if d.refuseVersion(d.Observation) != nil || !d.version.Supported() {
		return d.Newest()
	}
	return d.version
}

// upgrade has one member at a time run the version, which may be an older one, the
// leader last.
func (d *decision) upgrade() *Step {
	to := d.target()
	var pending []*Member
	for m := range d.listed {
		switch {
		case m.Target == to && m.Version != to:
			return &Step{Action: Upgrade, Member: m.Name, Version: to, Why: "it is in progress"}
		case m.Target != to:
			pending = append(pending, m)
		}
	}
	if len(pending) == 0 {
		if d.ClusterVersion != (etcd.Version{}) && d.ClusterVersion.CompareMinor(to) < 0 {
			return &Step{Action: Settle, Version: to}
		}
		return nil
	}
	if lowest, _ := d.span(); to.CompareMinor(lowest) > 0 && !d.agreed(lowest) {
		return &Step{Action: Settle, Version: lowest, Why: "the previous upgrade has not finished"}
	}
	if step := d.prepareDowngrade(to, pending); step != nil {
		return step
	}
	m, lead := d.leaderLast(pending)
	if lead != nil {
		return lead
	}
	return &Step{Action: Upgrade, Member: m.Name, Version: to}
}

// agreed reports whether the cluster version is that minor version, and the
// storage format matches it: only then may the next one run.
func (d *decision) agreed(v etcd.Version) bool {
	return d.ClusterVersion.CompareMinor(v) == 0 &&
		(d.StorageVersion == (etcd.Version{}) || d.StorageVersion.CompareMinor(v) == 0)
}

// shrink removes one surplus member: first those that would be replaced, then
// the newest, the leader last.
func (d *decision) shrink() *Step {
	if d.voters <= d.Size {
		return nil
	}
	var all, outdated []*Member
	for i := len(d.Members) - 1; i >= 0; i-- {
		m := &d.Members[i]
		if !m.Listed {
			continue
		}
		all = append(all, m)
		if !d.frozen && !d.current(m) {
			outdated = append(outdated, m)
		}
	}
	from, cause := all, Shrunk
	why := fmt.Sprintf("%d members vote, and spec.size is %d", d.voters, d.Size)
	if len(outdated) > 0 {
		from, cause, why = outdated, Replaced, "a member from the current spec replaces it"
		if len(all)-len(outdated) < d.Size {
			why = fmt.Sprintf("%d members vote, spec.size is %d, and it would be replaced", d.voters, d.Size)
		}
	}
	m, lead := d.leaderLast(from)
	if lead != nil {
		return lead
	}
	return d.remove(m, cause, why)
}

// renew gives members the pod or the storage from the spec, one at a time, the
// leader last.
func (d *decision) renew() *Step {
	if d.frozen {
		return nil
	}
	var stale []*Member
	for m := range d.listed {
		if (!d.becomesFresh(m) || d.untrusting(m)) && d.current(m) {
			stale = append(stale, m)
		}
	}
	if len(stale) > 0 {
		m, lead := d.leaderLast(stale)
		if lead != nil {
			return lead
		}
		why := unlike(m)
		if m.PodRevision == d.podRevision {
			why = d.Observation.CertificateStep().Why()
		}
		return &Step{Action: Restart, Member: m.Name, Why: why}
	}
	if m := d.toReplace(); m != nil {
		why := "to replace " + m.Name + ", which does not match the spec"
		if m.doomed() {
			why = "to replace " + m.Name + ", whose claim is being deleted"
		} else if r := m.Claim.Expansion.Refused; r != "" {
			why += ", and whose claim cannot grow: " + r
		}
		return &Step{Action: AddLearner, Version: d.joining(), Why: why}
	}
	return nil
}

// toReplace returns a voter that needs a replacement, or nil.
func (d *decision) toReplace() *Member {
	for m := range d.listed {
		if !m.Learner && !d.current(m) {
			return m
		}
	}
	return nil
}

// leaderLast returns the first member that is not the leader; if only the
// leader is left, the leadership is moved first, unless it is the only voter.
func (d *decision) leaderLast(from []*Member) (*Member, *Step) {
	for _, m := range from {
		if !m.Leader {
			return m, nil
		}
	}
	for heir := range d.listed {
		if !heir.Learner && heir.Ready() && !heir.Leader {
			return nil, &Step{Action: MoveLeader, Member: heir.Name, Why: from[0].Name + " leads, and is next"}
		}
	}
	return from[0], nil
}
