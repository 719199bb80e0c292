package plan

import (
	"fmt"
	"time"
)

// patience is how many times as long as for a voter is waited for a learner:
// nobody waits for it to vote, and another would begin from nothing.
const patience = 3

// lost removes members whose data is gone, which only count against the quorum.
// One that anybody sees at work keeps its place.
func (d *decision) lost() *Step {
	for m := range d.listed {
		if d.frozen || !m.lost() || m.Answers || m.PeersReach && !m.Pod.Exists {
			continue // a process may outlive its pod
		}
		if m.DataGone || d.silentFor(m) >= d.Limits.MemberTimeout {
			return d.remove(m, DataGone, "its data is gone; the others have it")
		}
	}
	return nil
}

// dead says whether a member is given up: nobody has seen it work for long, and
// neither the controller's own change nor what would befall another, too, is the
// reason.
func (d *decision) dead(m *Member, after time.Duration) bool {
	return m.silent() && d.silentFor(m) >= after && !m.ownChange() && !m.Pod.Shared && !d.frozen
}

// learner takes the one that there is at a time further, or away.
func (d *decision) learner() *Step {
	for m := range d.listed {
		if !m.Learner {
			continue
		}
		switch {
		case !d.frozen && !d.current(m):
			return d.remove(m, Unneeded, "it was made from a spec that has changed since")
		case !d.wanting():
			return d.remove(m, Unneeded, "it is not needed any more")
		case m.Ready() && !m.Pod.Sealed:
			return &Step{Action: Seal, Member: m.Name, Why: "it is about to vote"}
		case m.Ready():
			return &Step{Action: Promote, Member: m.Name}
		case d.voterDown():
			return nil // more urgent
		case d.dead(m, patience*d.Limits.MemberTimeout):
			return d.remove(m, NotResponding, d.sinceWhen(m))
		case m.made() && m.Pod.Exists && m.Target != d.joining():
			return &Step{Action: Upgrade, Member: m.Name, Version: d.joining(), Why: "it has not caught up, and is to run what the others do"}
		case m.Durable && m.Pod.Exists && !m.Pod.Ending && !m.doomed() && !d.frozen && m.PodRevision != d.podRevision:
			return &Step{Action: Restart, Member: m.Name, Why: "it has not caught up, and its pod is not what the spec wants"}
		case !m.Started && m.Pod.Ended && !m.Pod.Ending:
			return &Step{Action: Restart, Member: m.Name, Why: "it ended before it ever ran"}
		}
		d.watch(m, "")
		return &Step{Action: CatchUp, Member: m.Name, Version: d.joining()}
	}
	return nil
}

// voterDown says whether a voter is not ready.
func (d *decision) voterDown() bool {
	for m := range d.listed {
		if !m.Learner && !m.Ready() {
			return true
		}
	}
	return false
}

// wanting says whether there is use for one voter more.
func (d *decision) wanting() bool {
	if d.voters < d.Size {
		return true
	}
	return d.voters == d.Size && !d.frozen && d.toReplace() != nil
}

// down mends who can come back, before anybody else is touched.
func (d *decision) down() *Step {
	for m := range d.listed {
		if m.Learner || m.Ready() {
			continue
		}
		switch {
		case d.voters > d.Size && m.silent():
			return d.remove(m, Shrunk, "it does not answer, and one member is too many")
		case d.dead(m, d.Limits.MemberTimeout):
			return d.remove(m, NotResponding, d.sinceWhen(m))
		}
		return d.revive(m)
	}
	return nil
}

func (d *decision) sinceWhen(m *Member) string {
	return fmt.Sprintf("it has not responded for %s, and the others do without", d.silentFor(m).Round(time.Second))
}
