package plan

import (
	"fmt"

	"github.com/usher-dev/usher/policies/etcd"
)

// A decision is the next step, and why there is none or it may not end.
type decision struct {
	*wanted
	*Observation
	voters int
	// frozen: the spec wants what is refused besides the version, so that nothing
	// new is made from it.
	frozen bool

	block   Block
	message string
	stall   *Stall
}

func (w *wanted) decide(o *Observation) *decision {
	voters, _ := o.voters()
	return &decision{wanted: w, Observation: o, voters: voters, frozen: w.refuseStorage(o) != nil || w.refuseTLS(o) != nil}
}

// next is the first thing to do, nil where all is as wanted. What is in doubt
// stops everything; what mends the cluster comes before what changes it; what is
// deleted comes last.
func (d *decision) next() *Step {
	switch {
	case d.Restore != nil: // a person asked for it
		return d.restore()
	case d.Paused:
		return d.blocked(Paused, "spec.paused is true: the cluster is left as it is")
	case d.Size < 1 || d.Size > maxSize:
		return d.blocked(InvalidSize, fmt.Sprintf("spec.size is %d: a cluster has 1 to %d members", d.Size, maxSize))
	case d.Missing != "":
		return d.blocked(MissingReference, d.Missing)
	case d.Foreign != "":
		return d.stalled(StallForeign, "members answer for another cluster, "+d.Foreign+": nothing is done until somebody looks at them")
	case !d.Formed:
		return d.form()
	}
	phases := []func() *Step{d.seal, d.wake, d.withoutQuorum}
	if d.decides() {
		phases = []func() *Step{
			d.reattach, d.discard, d.seal, d.wake, // what must be in order first
			d.lost, d.learner, d.down, // what mends the cluster
			// It grows before it is upgraded, and shrinks after, so that the margin
			// is widest where members go down.
			d.grow, d.upgrade, d.shrink, d.renew,
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

// blocked does nothing, and says why.
func (d *decision) blocked(b Block, message string) *Step {
	d.block, d.message = b, message
	return nil
}

// stalled waits for a person.
func (d *decision) stalled(reason, message string) *Step {
	d.stall = &Stall{Reason: reason, Message: message}
	return &Step{Action: Wait, Why: message}
}

func wait(m *Member, why string) *Step { return &Step{Action: Wait, Member: m.Name, Why: why} }

// listed are the members of etcd's list.
func (d *decision) listed(yield func(*Member) bool) {
	for i := range d.Members {
		if m := &d.Members[i]; m.Listed && !yield(m) {
			return
		}
	}
}

// withoutQuorum brings back who can come back, and never removes anybody: what
// a member that does not answer holds may be the only copy.
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
		d.message = fmt.Sprintf("%d of %d voting members have lost their data, and the %d left are fewer than the %d that must agree: nothing is removed; restore a backup", voters-back, voters, back, etcd.Quorum(voters))
	}
	if step == nil && d.block == "" {
		step = &Step{Action: Wait, Why: "waits until a majority of the members agrees"}
	}
	return step
}
