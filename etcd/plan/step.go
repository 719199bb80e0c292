package plan

import (
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

// An Action is what a step does.
type Action string

// The actions. Each is safe to repeat, whatever the result of the previous
// attempt.
const (
	// Wait waits for something that the controller does not do itself.
	Wait Action = "wait"

	// Choose records the name of the member that will form the cluster.
	Choose Action = "choose"
	// Form creates the first member, which forms the cluster, from the current
	// spec; an earlier attempt has not served any clients.
	Form Action = "form"
	// Record records that the cluster is formed, or is the restored member's.
	Record Action = "record"

	// AddLearner adds a member that does not vote yet.
	AddLearner Action = "add learner"
	// CatchUp waits until a learner has caught up, and creates its pod if
	// necessary.
	CatchUp Action = "catch up"
	// Seal makes a member start only with its data.
	Seal Action = "seal"
	// Promote lets a learner vote.
	Promote Action = "promote"
	// Expose sends clients to a voter.
	Expose Action = "expose"

	// Recover runs a member's pod again, with its data, and waits until it
	// answers. It loses nothing.
	Recover Action = "recover"
	// Upgrade makes a member run another version with its data: it changes the
	// image of its pod in place.
	Upgrade Action = "upgrade"
	// Restart deletes a pod whose claim stays, so that it is recreated from the
	// spec.
	Restart Action = "restart"
	// Settle waits until the members agree on the cluster version.
	Settle Action = "settle"
	// MoveLeader moves the leadership to another member.
	MoveLeader Action = "move leader"

	// Remove removes a member from etcd's list.
	Remove Action = "remove"
	// Discard deletes the pod of a removed member.
	Discard Action = "discard"
	// SetAsideClaim marks the claim of a removed member for deletion.
	SetAsideClaim Action = "set aside"
	// Reattach removes the mark: etcd lists the claim's member.
	Reattach Action = "reattach"
	// Delete deletes a claim that was set aside for long enough.
	Delete Action = "delete"

	// Hold reserves the cluster for a restore, Yield releases it.
	Hold  Action = "hold"
	Yield Action = "yield"
	// Adopt makes the cluster the owner of claims, and of the restored member's
	// pod.
	Adopt Action = "adopt"
)

// housekeeping reports whether the action is auxiliary: a plan for people omits
// it.
func (a Action) housekeeping() bool {
	switch a {
	case Wait, Choose, Record, Seal, Expose, Discard, SetAsideClaim, Reattach, Delete, Hold, Yield, Adopt:
		return true
	}
	return false
}

// A Step is one action on one member.
type Step struct {
	Action Action `json:"action"`
	// Member is the affected member; "" for one without a name yet.
	Member string `json:"member,omitempty"`
	// Version is the version that the member runs afterwards; for Recover and
	// CatchUp, if its pod does not exist.
	Version etcd.Version `json:"version,omitzero"`
	// Why explains the purpose.
	Why string `json:"why"`
	// Margin is how many more voters may fail after the step; Meanwhile during it.
	// Below zero the cluster accepts no writes then, but loses nothing.
	Margin    int `json:"margin"`
	Meanwhile int `json:"meanwhile"`
	// Cause is why a member is removed, or its claim set aside.
	Cause Cause `json:"-"`
}

// downtime is how many voters that answer now do not during the step.
func (s *Step) downtime(o *Observation) int {
	if s.Action == Upgrade || s.Action == Restart {
		if m := o.named(s.Member); m != nil && m.Healthy() && m.voting() {
			return 1
		}
	}
	return 0
}

// String describes the step, without its margins.
func (s Step) String() string {
	member := s.Member
	if member == "" {
		member = "a new member"
	}
	text := s.words(member)
	if s.Why != "" {
		if text != "" {
			text += ": "
		}
		text += s.Why
	}
	return text
}

func (s Step) words(member string) string {
	switch s.Action {
	case Wait:
		return ""
	case Form:
		return fmt.Sprintf("form the cluster with %s at %s", member, s.Version)
	case Record:
		return fmt.Sprintf("record that the cluster is formed with %s", member)
	case Recover:
		return fmt.Sprintf("restart %s on its data", member)
	case AddLearner:
		return fmt.Sprintf("add %s at %s as a learner", member, s.Version)
	case CatchUp:
		return fmt.Sprintf("wait until %s has caught up", member)
	case Seal:
		return fmt.Sprintf("let %s start only with its data", member)
	case Promote:
		return fmt.Sprintf("let %s vote", member)
	case Expose:
		return fmt.Sprintf("send clients to %s", member)
	case MoveLeader:
		return fmt.Sprintf("move the leadership to %s", member)
	case Upgrade:
		return fmt.Sprintf("have %s run %s", member, s.Version)
	case Restart:
		return fmt.Sprintf("recreate the pod of %s on its claim", member)
	case Settle:
		return fmt.Sprintf("wait until the cluster version is %d.%d", s.Version.Major, s.Version.Minor)
	case Discard:
		return fmt.Sprintf("delete the pod of %s", member)
	case SetAsideClaim:
		return fmt.Sprintf("set the claim of %s aside", member)
	case Reattach:
		return fmt.Sprintf("attach the claim of %s again", member)
	case Delete:
		return fmt.Sprintf("delete the claim of %s", member)
	}
	return fmt.Sprintf("%s %s", s.Action, member)
}
