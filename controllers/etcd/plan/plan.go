package plan

import (
	"slices"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// maxSize is the largest cluster: each member more makes writes slower, and
// seven tolerate three failures.
const maxSize = 7

// maxSteps ends plans of a bug that would go in circles.
const maxSteps = 512

// A Block is why not all that the spec wants is done.
type Block string

// The blocks.
const (
	// Paused: nothing is done until spec.paused is false.
	Paused Block = "Paused"
	// UnsupportedVersion: the cluster is not formed.
	UnsupportedVersion Block = "UnsupportedVersion"
	// InvalidSize: the size is none a cluster can have.
	InvalidSize Block = "InvalidSize"
	// MissingReference: the members, or their client, need what is not there.
	MissingReference Block = "MissingReference"
	// RetainedClaims: a cluster of the name was there before, and nobody has said
	// what to do with its claims.
	RetainedClaims Block = "RetainedClaims"
	// QuorumLost: too few voters are left, and those missing cannot come back
	// as themselves. Nothing but a restore helps.
	QuorumLost Block = "QuorumLost"
	// ClusterRunning: a restore does not take the place of a cluster that works.
	ClusterRunning Block = "ClusterRunning"
	// RefusedChange: the spec wants what is refused; what is safe is done.
	RefusedChange Block = "RefusedChange"
)

// A Stall is why the cluster does not get further by itself.
type Stall struct {
	// Reason is the cause in a word: the pod's own, where there is one.
	Reason string
	// Message says who is stuck, why, and what to do.
	Message string
}

// The reasons of stalls that no pod gives.
const (
	// StallForeign: members answer for another cluster.
	StallForeign = "ForeignCluster"
	// StallUnreachable: a member does not answer the controller, and its kubelet
	// or the other members say that it works.
	StallUnreachable = "Unreachable"
	// StallNotReady: a member answers, and its kubelet says that it is not ready.
	StallNotReady = "NotReady"
	// StallUnresponsive: a member does not respond, and nobody says why.
	StallUnresponsive = "Unresponsive"
	// StallClaimEnding: a member's claim is being deleted, and only its pod keeps
	// its data.
	StallClaimEnding = "ClaimTerminating"
	// StallLimit: no more members are replaced without a person.
	StallLimit = "ReplacementLimit"
	// StallStatusLost: the status does not say that the cluster was formed, and
	// members of it are there.
	StallStatusLost = "StatusLost"
)

// A Plan leads from what was seen to what is wanted.
type Plan struct {
	// Steps are in their order; none where nothing is to do. Only the first is
	// for now: the rest supposes that all goes well.
	Steps []Step
	// Blocked is why not all that is wanted is done, empty where it is.
	Blocked Block
	// Message says it in words.
	Message string
	// Stalled is set while the first step waits for what may never come.
	Stalled *Stall
	// Refusals are what the spec does not get.
	Refusals []Refusal
}

// Make makes the plan for people: it leaves out what only serves another step.
func Make(spec *v1beta2.ClusterSpec, seen *Observation) Plan {
	p := plan(spec, seen, maxSteps)
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.Action.housekeeping() })
	return p
}

// Next is what is done now: a plan of at most one step.
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
	o.Members = slices.Clone(seen.Members)
	o.SetAside = slices.Clone(seen.SetAside)
	for i := range steps {
		d := w.decide(&o)
		step := d.next()
		if d.block != "" {
			plan.Blocked, plan.Message = d.block, d.message
		}
		if i == 0 {
			plan.Stalled = d.stall
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

// Now is the step to execute, nil where there is nothing to do.
func (p *Plan) Now() *Step {
	if len(p.Steps) == 0 {
		return nil
	}
	return &p.Steps[0]
}
