package plan

import (
	"slices"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// maxSize is the largest cluster: each further member slows writes down, and
// seven tolerate three failures.
const maxSize = 7

// maxSteps limits plans that would loop because of a bug.
const maxSteps = 512

// A Block is why a plan does not achieve everything in the spec.
type Block string

// The blocks.
const (
	// Paused: nothing is done until spec.paused is false.
	Paused Block = "Paused"
	// UnsupportedVersion: the cluster is not formed.
	UnsupportedVersion Block = "UnsupportedVersion"
	// InvalidSize: the size is invalid.
	InvalidSize Block = "InvalidSize"
	// MissingReference: the members, or their client, need something that does not
	// exist.
	MissingReference Block = "MissingReference"
	// RetainedClaims: a cluster of the name existed before, and its claims need a
	// decision.
	RetainedClaims Block = "RetainedClaims"
	// QuorumLost: too few voters are left, and the missing ones have lost their
	// data. Only a restore helps.
	QuorumLost Block = "QuorumLost"
	// ClusterRunning: a restore does not replace a working cluster.
	ClusterRunning Block = "ClusterRunning"
	// RefusedChange: the spec asks for a refused change; safe steps are still
	// taken.
	RefusedChange Block = "RefusedChange"
	// Hibernated: the cluster sleeps until spec.hibernated is false.
	Hibernated Block = "Hibernated"
	// RefusedHibernation: the cluster cannot sleep without losing data; it is run
	// as ever.
	RefusedHibernation Block = "RefusedHibernation"
)

// A Stall is why the cluster cannot make progress by itself.
type Stall struct {
	// Reason is the cause in a word: the pod's own, if it has one.
	Reason string
	// Message names the stuck member, the cause, and what to do.
	Message string
}

// The reasons of stalls, other than those of pods.
const (
	// StallForeign: members answer for another cluster.
	StallForeign = "ForeignCluster"
	// StallUnreachable: a member does not answer the controller, but its kubelet
	// or the other members say that it works.
	StallUnreachable = "Unreachable"
	// StallSlow: the same, and the member has answered nothing in time.
	StallSlow = "Slow"
	// StallRefused: a member refuses the controller's client.
	StallRefused = "Refused"
	// StallNotReady: a member answers, but its kubelet says that it is not ready.
	StallNotReady = "NotReady"
	// StallUnresponsive: a member does not respond, for an unknown reason.
	StallUnresponsive = "Unresponsive"
	// StallClaimEnding: a member's claim is being deleted, and only its pod keeps
	// its data.
	StallClaimEnding = "ClaimTerminating"
	// StallImage: the image whose digest is in the spec has another version than the
	// spec says.
	StallImage = "ImageVersion"
	// StallLimit: replacing more members needs human intervention.
	StallLimit = "ReplacementLimit"
	// StallStatusLost: the status does not record that the cluster was formed, but
	// members of it exist.
	StallStatusLost = "StatusLost"
)

// A Plan leads from the observed to the desired state.
type Plan struct {
	// Steps are in order; empty if there is nothing to do. Only the first is for
	// now: the rest assumes that all goes well.
	Steps []Step
	// Blocked is why the plan does not achieve everything in the spec, or "".
	Blocked Block
	// Message explains it.
	Message string
	// Stalled is set while the first step waits for something that may never
	// happen.
	Stalled *Stall
	// Refusals are the refused changes in the spec.
	Refusals []Refusal
	// NotExpanding is why a member is replaced whose storage is too small; "" if none
	// is.
	NotExpanding string
	// SpaceStalled is what keeps the controller from a step for space that is due.
	SpaceStalled *Stall
}

// Make returns the plan for people: it omits auxiliary steps.
func Make(spec *v1beta2.ClusterSpec, seen *Observation) Plan {
	p := plan(spec, seen, maxSteps)
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.Action.housekeeping() })
	return p
}

// Next returns the current step: a plan of at most one step.
func Next(spec *v1beta2.ClusterSpec, seen *Observation) Plan { return plan(spec, seen, 1) }

func plan(spec *v1beta2.ClusterSpec, seen *Observation, steps int) Plan {
	w := want(spec)
	plan := Plan{Refusals: w.refusals(seen)}
	if len(plan.Refusals) > 0 {
		plan.Blocked = RefusedChange
		plan.Message = plan.Refusals[0].Field + " " + plan.Refusals[0].Message
	}
	o := *seen
	o.Limits = seen.Limits.orDefault()
	o.Members = w.compareDigests(seen.Members)
	giveUpResizes(&o)
	giveUpExpansions(&o)
	o.SetAside = slices.Clone(seen.SetAside)
	for i := range steps {
		d := w.decide(&o)
		step := d.next()
		if d.block != "" {
			plan.Blocked, plan.Message = d.block, d.message
		}
		if i == 0 {
			plan.SpaceStalled = d.spaceStalled(step)
			plan.Stalled, plan.NotExpanding = d.stall, d.notExpanding()
		}
		if step == nil {
			break
		}
		meanwhile := o.Margin() - step.downtime(&o)
		w.predict(&o, step)
		step.Margin = o.Margin()
		step.Meanwhile = min(meanwhile, step.Margin)
		plan.Steps = append(plan.Steps, *step)
		if step.Action == Wait {
			break
		}
	}
	return plan
}

// Now returns the step to execute, or nil.
func (p *Plan) Now() *Step {
	if len(p.Steps) == 0 {
		return nil
	}
	return &p.Steps[0]
}
