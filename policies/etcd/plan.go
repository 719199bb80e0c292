package etcd

import (
	"fmt"

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
	// QuorumLost: too few voters are left, and those missing cannot come back
	// as themselves. Nothing but a restore helps.
	QuorumLost Block = "QuorumLost"
	// RefusedChange: the spec wants what is refused; what is safe is done.
	RefusedChange Block = "RefusedChange"
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
	// Refusals are what the spec does not get.
	Refusals []Refusal
}

// Make makes the plan from what is wanted and what was seen.
func Make(spec *v1beta2.ClusterSpec, seen *Observed) Plan { return plan(spec, seen, maxSteps) }

// Next is Make for who needs the first step alone.
func Next(spec *v1beta2.ClusterSpec, seen *Observed) Plan { return plan(spec, seen, 1) }

func plan(spec *v1beta2.ClusterSpec, seen *Observed, steps int) Plan {
	w := want(spec)
	plan := Plan{Refusals: w.refusals(seen)}
	if len(plan.Refusals) > 0 {
		plan.Blocked = RefusedChange
		plan.Message = plan.Refusals[0].Field + " " + plan.Refusals[0].Message
	}
	o := *seen
	o.Members = append([]Member(nil), seen.Members...)
	for range steps {
		step, block, message := w.next(&o)
		if block != "" {
			plan.Blocked, plan.Message = block, message
		}
		if step == nil {
			break
		}
		meanwhile := o.Margin() - step.downtime(&o)
		w.predict(&o, step)
		step.Margin = o.Margin()
		step.Meanwhile = min(meanwhile, step.Margin)
		plan.Steps = append(plan.Steps, *step)
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

// next decides what is done first to the cluster as it is.
func (w *wanted) next(o *Observed) (*Step, Block, string) {
	switch {
	case w.Paused:
		return nil, Paused, "spec.paused is true: the cluster is left as it is"
	case w.Size < 1 || w.Size > maxSize:
		return nil, InvalidSize, fmt.Sprintf("spec.size is %d: a cluster has 1 to %d members", w.Size, maxSize)
	case !o.Formed:
		return w.form(o)
	}
	voters, healthy := o.voters()
	if healthy < Quorum(voters) {
		return w.withoutQuorum(o)
	}
	return w.decide(o).next(), "", ""
}

// form makes the cluster's first member.
func (w *wanted) form(o *Observed) (*Step, Block, string) {
	if !w.version.Supported() {
		return nil, UnsupportedVersion, Unsupported(w.Version)
	}
	step := &Step{Action: Form, Version: w.version}
	if len(o.Members) > 0 {
		step.Member = o.Members[0].Name
	}
	return step, "", ""
}

// withoutQuorum brings back who can come back, and never removes anybody: what
// a member that does not answer holds may be the only copy.
func (w *wanted) withoutQuorum(o *Observed) (step *Step, block Block, message string) {
	voters, back := 0, 0
	for i := range o.Members {
		m := &o.Members[i]
		if m.Learner {
			continue
		}
		voters++
		if !m.Lost {
			back++
		}
		if step == nil && !m.Ready && !m.Lost {
			step = w.decide(o).revive(m)
		}
	}
	if back < Quorum(voters) {
		block = QuorumLost
		message = fmt.Sprintf("%d of %d voting members have lost their data, and the %d left are fewer than the %d that must agree: nothing is removed; restore a backup", voters-back, voters, back, Quorum(voters))
	}
	return step, block, message
}

// Unsupported says why a version is not run, and names the nearest that is.
func Unsupported(version string) string {
	v, err := ParseVersion(version)
	if err != nil {
		return "spec.version " + err.Error()
	}
	return fmt.Sprintf("spec.version is %s, which is not run: write %s", v, v.Nearest())
}
