package etcd

import (
	"fmt"
)

// An Action is what is done in a step.
type Action string

// The actions. Each is safe to repeat, whatever became of the attempt before.
const (
	// Form makes the first member, which forms the cluster, as the spec wants it
	// by now; nobody has been served by an attempt before.
	Form Action = "form"
	// Recover has a member's pod run again, on the data it had, and waits until
	// it answers. Nothing is lost by it.
	Recover Action = "recover"
	// AddLearner adds a member that does not vote yet, and its pod.
	AddLearner Action = "add learner"
	// CatchUp waits until a learner has caught up; its pod runs.
	CatchUp Action = "catch up"
	// Promote lets a learner vote.
	Promote Action = "promote"
	// MoveLeader moves the leadership to another member.
	MoveLeader Action = "move leader"
	// Remove takes a member out of the cluster, then its pod and its data away.
	Remove Action = "remove"
	// Upgrade has a member run another version on the data it has: the image
	// of its pod is changed in place.
	Upgrade Action = "upgrade"
	// Restart makes a member's pod anew from the spec, on its claim.
	Restart Action = "restart"
	// Settle waits until the members agree on the version they all speak.
	Settle Action = "settle"
)

// A Step is one action on one member.
type Step struct {
	Action Action `json:"action"`
	// Member is who it is about; empty for one that has no name yet.
	Member string `json:"member,omitempty"`
	// Version is what the member runs then; of Recover and CatchUp, where its pod
	// was never made.
	Version Version `json:"version,omitzero"`
	// Why says what it is good for.
	Why string `json:"why"`
	// Margin is how many more voters may fail after the step; Meanwhile during
	// it. Below zero nothing is written then; nothing is lost.
	Margin    int `json:"margin"`
	Meanwhile int `json:"meanwhile"`
}

// downtime is how many voters that answer now do not during the step.
func (s *Step) downtime(o *Observed) int {
	if s.Action == Upgrade || s.Action == Restart {
		for _, m := range o.Members {
			if m.Name == s.Member && m.Ready && !m.Learner {
				return 1
			}
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
	var text string
	switch s.Action {
	case Form:
		text = fmt.Sprintf("form the cluster with %s at %s", member, s.Version)
	case Recover:
		text = fmt.Sprintf("bring %s back on its data", member)
	case AddLearner:
		text = fmt.Sprintf("add %s at %s as a learner", member, s.Version)
	case CatchUp:
		text = fmt.Sprintf("wait until %s has caught up", member)
	case Promote:
		text = fmt.Sprintf("let %s vote", member)
	case MoveLeader:
		text = fmt.Sprintf("move the leadership to %s", member)
	case Remove:
		text = fmt.Sprintf("remove %s", member)
	case Upgrade:
		text = fmt.Sprintf("have %s run %s", member, s.Version)
	case Restart:
		text = fmt.Sprintf("make the pod of %s anew on its claim", member)
	case Settle:
		text = fmt.Sprintf("wait until all members speak %d.%d", s.Version.Major, s.Version.Minor)
	default:
		text = string(s.Action) + " " + member
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}
