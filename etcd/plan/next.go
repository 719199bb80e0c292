package plan

import (
	"fmt"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

// A decision is the next step, and why there is none or it may never end.
type decision struct {
	*wanted
	*Observation
	voters int
	// frozen: the spec asks for a refused change other than the version, so the
	// controller creates nothing from it.
	frozen bool

	block   Block
	message string
	stall   *Stall
	// spaceStall is what keeps a step for space that is due.
	spaceStall *Stall
}

func (w *wanted) decide(o *Observation) *decision {
	voters, _ := o.voters()
	return &decision{wanted: w, Observation: o, voters: voters, frozen: w.refuseStorage(o) != nil || w.refuseTLS(o) != nil}
}

// next returns the first step, or nil if everything is as desired. Doubts stop
// everything; repairs come before changes; deletions come last.
func (d *decision) next() *Step {
	switch {
	case d.Restore != nil: // a person asked for it
		return d.restore()
	case d.Paused:
		return d.blocked(Paused, "spec.paused is true: usher does not change the cluster")
	case d.Size < 1 || d.Size > maxSize:
		return d.blocked(InvalidSize, fmt.Sprintf("spec.size is %d: write a number from 1 to %d", d.Size, maxSize))
	case d.asleep(d.Observation):
		return d.blocked(Hibernated, "spec.hibernated is true: the cluster sleeps, and usher starts its members once it is false")
	case d.Missing != "":
		return d.blocked(MissingReference, d.Missing)
	case d.Foreign != "":
		return d.stalled(StallForeign, "most members answer for another etcd cluster, "+d.Foreign+", and usher changes nothing: give them their former volumes again, or restore a backup with an EtcdRestore that has the annotation "+wellknown.AnnotationEtcdReplaceRunning)
	case !d.Formed:
		return d.form()
	case d.defragmenting() != nil:
		return wait(d.defragmenting(), "waits until "+d.Space.Defragmenting+" is defragmented")
	case d.Hibernated && d.maySleep():
		return d.hibernate()
	}
	phases := []func() *Step{d.seal, d.wake, d.withoutQuorum}
	if d.decides() {
		phases = []func() *Step{
			d.reattach, d.discard, d.seal, d.wake, // preconditions
			d.compact, d.endDowngrade,
			d.lost, d.learner, d.down, // repairs
			d.endNoSpace,
			d.authenticate,
			d.misnamed,
			// It grows before upgrades, and shrinks afterwards, so that the margin is
			// widest while members go down.
			d.grow, d.upgrade, d.shrink, d.resize, d.expand, d.renew,
			d.defragment,
			d.expire,
		}
	}
	for _, phase := range phases {
		if step := phase(); step != nil {
			return step
		}
	}
	return nil
}

// blocked does nothing, and explains why.
func (d *decision) blocked(b Block, message string) *Step {
	d.block, d.message = b, message
	return nil
}

// stalled waits for human intervention.
func (d *decision) stalled(reason, message string) *Step {
	d.stall = &Stall{Reason: reason, Message: message}
	return &Step{Action: Wait, Why: message}
}

func wait(m *Member, why string) *Step { return &Step{Action: Wait, Member: m.Name, Why: why} }

// listed returns the members in etcd's list.
func (d *decision) listed(yield func(*Member) bool) {
	for i := range d.Members {
		if m := &d.Members[i]; m.Listed && !yield(m) {
			return
		}
	}
}

// withoutQuorum restores recoverable members, and never removes one: a member
// that does not answer may have the only copy of data.
func (d *decision) withoutQuorum() (step *Step) {
	voters, back := 0, 0
	for m := range d.listed {
		if m.Learner {
			continue
		}
		voters++
		if m.lost() {
			continue
		}
		back++
		if step == nil && !m.Ready() {
			step = d.revive(m)
		}
	}
	if back < etcd.Quorum(voters) {
		d.block = QuorumLost
		d.message = fmt.Sprintf("%d of %d voting members have lost their data, and the remaining %d are fewer than the quorum of %d: usher removes nothing; restore a backup", voters-back, voters, back, etcd.Quorum(voters))
	}
	if step == nil && d.block == "" {
		step = &Step{Action: Wait, Why: "waits for a quorum"}
	}
	return step
}
