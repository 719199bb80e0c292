package plan

import (
	"fmt"

	"github.com/usher-dev/usher/policies/etcd"
)

// An Action is what is done in a step.
type Action string

// The actions. Each is safe to repeat, whatever became of the attempt before.
const (
	// Wait waits for something that the controller does not do itself.
	Wait Action = "wait"

	// Choose records the name of the member that will form the cluster.
	Choose Action = "choose"
	// Form makes the first member, which forms the cluster, as the spec wants it
	// by now; nobody has been served by an attempt before.
	Form Action = "form"
	// Record records that the cluster was formed, or is the restored member's.
	Record Action = "record"

	// AddLearner adds a member that does not vote yet.
	AddLearner Action = "add learner"
	// CatchUp waits until a learner has caught up; its pod is made where it was
	// never made.
	CatchUp Action = "catch up"
	// Seal has a member start with its data or not at all.
	Seal Action = "seal"
	// Promote lets a learner vote.
	Promote Action = "promote"
	// Expose has clients sent to a voter.
	Expose Action = "expose"

	// Recover has a member's pod run again, on the data it had, and waits until
	// it answers. Nothing is lost by it.
	Recover Action = "recover"
	// Upgrade has a member run another version on the data it has: the image
	// of its pod is changed in place.
	Upgrade Action = "upgrade"
	// Restart deletes a pod whose claim stays, so that it is made from the spec.
	Restart Action = "restart"
	// Settle waits until the members agree on the version they all speak.
	Settle Action = "settle"
	// MoveLeader moves the leadership to another member.
	MoveLeader Action = "move leader"

	// Remove takes a member out of etcd's list.
	Remove Action = "remove"
	// Discard deletes the pod of who is not a member any more.
	Discard Action = "discard"
	// SetAsideClaim marks the claim of who is not a member any more for deletion.
	SetAsideClaim Action = "set aside"
	// Reattach takes the mark off: etcd lists the claim's member.
	Reattach Action = "reattach"
	// Delete deletes a claim that was set aside for long enough.
	Delete Action = "delete"

	// Hold has a restore take the cluster, Yield give it back.
	Hold  Action = "hold"
	Yield Action = "yield"
	// Adopt makes claims, and the restored member's pod, the cluster's.
	Adopt Action = "adopt"
)

// housekeeping says whether the action only serves another: a plan for people
// leaves it out.
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
	// Member is who it is about; empty for one that has no name yet.
	Member string `json:"member,omitempty"`
	// Version is what the member runs then; of Recover and CatchUp, where its pod
	// was never made.
	Version etcd.Version `json:"version,omitzero"`
	// Why says what it is good for.
	Why string `json:"why"`
	// Margin is how many more voters may fail after the step; Meanwhile during
	// it. Below zero nothing is written then; nothing is lost.
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

// String is the step in words, without its margins.
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
		return fmt.Sprintf("bring %s back on its data", member)
	case AddLearner:
		return fmt.Sprintf("add %s at %s as a learner", member, s.Version)
	case CatchUp:
		return fmt.Sprintf("wait until %s has caught up", member)
	case Seal:
		return fmt.Sprintf("let %s start with its data only", member)
	case Promote:
		return fmt.Sprintf("let %s vote", member)
	case Expose:
		return fmt.Sprintf("send clients to %s", member)
	case MoveLeader:
		return fmt.Sprintf("move the leadership to %s", member)
	case Upgrade:
		return fmt.Sprintf("have %s run %s", member, s.Version)
	case Restart:
		return fmt.Sprintf("make the pod of %s anew on its claim", member)
	case Settle:
		return fmt.Sprintf("wait until all members speak %d.%d", s.Version.Major, s.Version.Minor)
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
