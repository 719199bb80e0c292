package plan

import (
	"fmt"
	"time"
)

// learnerFactor is how many times longer to wait for a learner than for a voter:
// its vote is not needed yet, and a replacement would start from nothing.
const learnerFactor = 3

// lost removes members whose data is lost, which only count against the quorum.
func (d *decision) lost() *Step {
	for m := range d.listed {
		if d.frozen || !m.lost() {
			continue
		}
		if m.DataGone || d.silentFor(m) >= d.Limits.MemberTimeout {
			return d.remove(m, DataGone, "its data is lost; the others have a copy")
		}
	}
	return nil
}

// dead reports whether to give up a member: no witness has seen it work for a
// long time, and the cause is neither the controller's own change nor a problem
// that a replacement would share.
func (d *decision) dead(m *Member, after time.Duration) bool {
	return m.silent() && d.silentFor(m) >= after && !m.ownChange() && !m.Pod.Shared && !d.frozen
}

// learner advances or removes the one learner.
func (d *decision) learner() *Step {
	for m := range d.listed {
		if !m.Learner {
			continue
		}
		switch {
		case !d.frozen && !d.current(m):
			return d.remove(m, Unneeded, "it was created from an earlier spec")
		case !d.wanting():
			return d.remove(m, Unneeded, "the cluster does not need it any more")
		case m.Ready() && !m.Pod.Sealed:
			return &Step{Action: PinInitialState, Member: m.Name, Why: "it is about to vote"}
		case m.Ready():
			return &Step{Action: Promote, Member: m.Name}
		case d.voterDown():
			return nil // more urgent
		case d.dead(m, learnerFactor*d.Limits.MemberTimeout):
			return d.remove(m, NotResponding, d.sinceWhen(m))
		case m.made() && m.Pod.Exists && m.Target != d.joining():
			return &Step{Action: Upgrade, Member: m.Name, Version: d.joining(), Why: "it has not caught up, and must run the version of the others"}
		case m.Durable && m.Pod.Exists && !m.Pod.Ending && !m.doomed() && !d.frozen && (!d.freshPod(m) || d.untrusting(m)):
			return &Step{Action: Restart, Member: m.Name, Why: "it has not caught up, and its pod does not match the spec"}
		case !m.Started && m.Pod.Ended && !m.Pod.Ending:
			return &Step{Action: Restart, Member: m.Name, Why: "it ended before it ever ran"}
		}
		d.watch(m, "")
		return &Step{Action: CatchUp, Member: m.Name, Version: d.joining()}
	}
	return nil
}

// voterDown reports whether a voter is not ready.
func (d *decision) voterDown() bool {
	for m := range d.listed {
		if !m.Learner && !m.Ready() {
			return true
		}
	}
	return false
}

// wanting reports whether another voter is needed.
func (d *decision) wanting() bool {
	if d.voters < d.Size {
		return true
	}
	return d.voters == d.Size && !d.frozen && d.toReplace() != nil
}

// down restores recoverable members, before it changes any other one.
func (d *decision) down() *Step {
	for m := range d.listed {
		if m.Learner || m.Ready() {
			continue
		}
		switch {
		case d.voters > d.Size && m.silent():
			return d.remove(m, Shrunk, "it does not answer, and the cluster has one member too many")
		case d.dead(m, d.Limits.MemberTimeout):
			return d.remove(m, NotResponding, d.sinceWhen(m))
		}
		return d.revive(m)
	}
	return nil
}

func (d *decision) sinceWhen(m *Member) string {
	return fmt.Sprintf("it has not responded for %s, and the others have a quorum", d.silentFor(m).Round(time.Second))
}
