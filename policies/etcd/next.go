package etcd

import (
	"fmt"
	"slices"
)

// A decision is about a cluster that can decide itself: enough voters answer.
type decision struct {
	*wanted
	*Observed
	voters int
	// frozen: the spec wants what is refused beside the version, so that nothing
	// new is made from it.
	frozen bool
}

func (w *wanted) decide(o *Observed) *decision {
	voters, _ := o.voters()
	return &decision{wanted: w, Observed: o, voters: voters, frozen: w.refuseStorage(o) != nil || w.refuseTLS(o) != nil}
}

// next is the first thing to do, nil where all is as wanted. What mends the
// cluster comes before what changes it; it grows before it is upgraded, and
// shrinks after, so that the margin is widest where members go down.
func (d *decision) next() *Step {
	for _, of := range []func() *Step{d.lost, d.learner, d.down, d.grow, d.upgrade, d.shrink, d.renew} {
		if step := of(); step != nil {
			return step
		}
	}
	return nil
}

// learner takes the one that there is at a time further, or away.
func (d *decision) learner() *Step {
	for i := range d.Members {
		m := &d.Members[i]
		if !m.Learner {
			continue
		}
		switch {
		case !d.frozen && !d.current(m):
			return &Step{Action: Remove, Member: m.Name, Why: "it was made from a spec that has changed since"}
		case !d.wanting():
			return &Step{Action: Remove, Member: m.Name, Why: "it is not needed any more"}
		case m.Ready:
			return &Step{Action: Promote, Member: m.Name}
		case d.voterDown():
			return nil // more urgent
		case m.made() && m.Target != d.joining():
			return &Step{Action: Upgrade, Member: m.Name, Version: d.joining(), Why: "it has not caught up, and is to run what the others do"}
		case m.Durable && !d.frozen && m.PodRevision != d.podRevision:
			return &Step{Action: Restart, Member: m.Name, Why: "it has not caught up, and its pod is not what the spec wants"}
		}
		return &Step{Action: CatchUp, Member: m.Name, Version: d.joining()}
	}
	return nil
}

// voterDown says whether a voter does not answer.
func (d *decision) voterDown() bool {
	return slices.ContainsFunc(d.Members, func(m Member) bool { return !m.Learner && !m.Ready })
}

// wanting says whether there is use for one voter more.
func (d *decision) wanting() bool {
	if d.voters < d.Size {
		return true
	}
	return d.voters == d.Size && !d.frozen && d.toReplace() != nil
}

// lost removes the dead: they do not come back, and only count against the
// quorum.
func (d *decision) lost() *Step {
	for i := range d.Members {
		if m := &d.Members[i]; m.Lost && !m.Ready {
			return &Step{Action: Remove, Member: m.Name, Why: "its data is gone; the others have it"}
		}
	}
	return nil
}

// down mends who can come back, before anybody else is touched.
func (d *decision) down() *Step {
	for i := range d.Members {
		m := &d.Members[i]
		if m.Ready || m.Learner {
			continue
		}
		if d.voters > d.Size {
			return &Step{Action: Remove, Member: m.Name, Why: "it does not answer, and one member is too many"}
		}
		return d.revive(m)
	}
	return nil
}

// revive has a member that does not answer run again, as it should be run by
// now: what it was told to last may be why it does not.
func (d *decision) revive(m *Member) *Step {
	to := d.target()
	switch {
	case m.Target != to && d.mayRun(m, to):
		return &Step{Action: Upgrade, Member: m.Name, Version: to, Why: "it does not answer, and was told to run " + m.Target.String()}
	case m.Durable && !d.frozen && m.PodRevision != d.podRevision:
		return &Step{Action: Restart, Member: m.Name, Why: "it does not answer, and its pod is not what the spec wants"}
	}
	return &Step{Action: Recover, Member: m.Name, Version: to}
}

// mayRun says whether the member's data may be given to that version, although
// not every member is well.
func (d *decision) mayRun(m *Member, to Version) bool {
	if m.Version == (Version{}) || to.compareMinor(m.Version) == 0 {
		return true
	}
	return to.compareMinor(m.Version) > 0 && d.agreed(m.Version)
}

func (d *decision) grow() *Step {
	if d.voters >= d.Size || d.frozen {
		return nil
	}
	return &Step{Action: AddLearner, Version: d.joining(), Why: fmt.Sprintf("%d of %d members vote", d.voters, d.Size)}
}

// joining is the version of a new member: one that is known to run here.
func (d *decision) joining() Version {
	if _, highest := d.span(); highest != (Version{}) {
		return highest
	}
	return d.target()
}

// target is the version members are to run: the spec's, or where that is
// refused the highest there is.
func (d *decision) target() Version {
	_, highest := d.span()
	if d.refuseVersion(d.Observed) != nil || !d.version.Supported() {
		return highest
	}
	return d.version
}

// upgrade gives one member at a time the version, the leader last.
func (d *decision) upgrade() *Step {
	to := d.target()
	var pending []*Member
	for i := range d.Members {
		switch m := &d.Members[i]; {
		case m.Target == to && m.Version != to:
			return &Step{Action: Upgrade, Member: m.Name, Version: to, Why: "it is under way"}
		case m.Target != to:
			pending = append(pending, m)
		}
	}
	if len(pending) == 0 {
		if d.ClusterVersion != (Version{}) && d.ClusterVersion.compareMinor(to) < 0 {
			return &Step{Action: Settle, Version: to}
		}
		return nil
	}
	if lowest, _ := d.span(); to.compareMinor(lowest) > 0 && !d.agreed(lowest) {
		return &Step{Action: Settle, Version: lowest, Why: "the upgrade before has not come to rest"}
	}
	m, lead := d.leaderLast(pending)
	if lead != nil {
		return lead
	}
	return &Step{Action: Upgrade, Member: m.Name, Version: to}
}

// agreed says whether all members speak that minor version, and their data is
// in its format: only then may the next one be run.
func (d *decision) agreed(v Version) bool {
	return d.ClusterVersion.compareMinor(v) == 0 &&
		(d.StorageVersion == (Version{}) || d.StorageVersion.compareMinor(v) == 0)
}

// shrink removes one member too many: first those that would be replaced, then
// the newest, the leader last.
func (d *decision) shrink() *Step {
	if d.voters <= d.Size {
		return nil
	}
	var all, outdated []*Member
	for i := len(d.Members) - 1; i >= 0; i-- {
		m := &d.Members[i]
		all = append(all, m)
		if !d.frozen && !d.current(m) {
			outdated = append(outdated, m)
		}
	}
	from := all
	why := fmt.Sprintf("%d members vote, and %d are wanted", d.voters, d.Size)
	if len(outdated) > 0 {
		from, why = outdated, "another one, made from the spec as it is, stands in for it"
		if len(all)-len(outdated) < d.Size {
			why = fmt.Sprintf("%d members vote, %d are wanted, and it would be replaced", d.voters, d.Size)
		}
	}
	m, lead := d.leaderLast(from)
	if lead != nil {
		return lead
	}
	return &Step{Action: Remove, Member: m.Name, Why: why}
}

// renew gives members the pod or the storage that the spec wants, one at a
// time, the leader last.
func (d *decision) renew() *Step {
	if d.frozen {
		return nil
	}
	var stale []*Member
	for i := range d.Members {
		if m := &d.Members[i]; m.PodRevision != d.podRevision && d.current(m) {
			stale = append(stale, m)
		}
	}
	if len(stale) > 0 {
		m, lead := d.leaderLast(stale)
		if lead != nil {
			return lead
		}
		return &Step{Action: Restart, Member: m.Name, Why: "its pod is not what the spec wants"}
	}
	if m := d.toReplace(); m != nil {
		return &Step{Action: AddLearner, Version: d.joining(), Why: "to stand in for " + m.Name + ", which is not what the spec wants"}
	}
	return nil
}

// toReplace is a voter that another must stand in for, nil where there is none.
func (d *decision) toReplace() *Member {
	for i := range d.Members {
		if m := &d.Members[i]; !m.Learner && !d.current(m) {
			return m
		}
	}
	return nil
}

// leaderLast picks the first that does not lead; where only the leader is left,
// the leadership is moved first, unless nobody else votes.
func (d *decision) leaderLast(from []*Member) (*Member, *Step) {
	for _, m := range from {
		if !m.Leader {
			return m, nil
		}
	}
	for i := range d.Members {
		if heir := &d.Members[i]; !heir.Learner && heir.Ready && !heir.Leader {
			return nil, &Step{Action: MoveLeader, Member: heir.Name, Why: from[0].Name + " leads, and is next"}
		}
	}
	return from[0], nil
}
