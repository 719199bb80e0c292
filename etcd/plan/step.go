package plan

import (
	"fmt"

	"github.com/usher-dev/usher/etcd"
)

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
	// Bytes is the quota that RaiseQuota sets, Revision the oldest one that Compact
	// keeps.
	Bytes, Revision int64 `json:"-"`
	// Cause is why a member is removed, or its claim set aside.
	Cause Cause `json:"-"`
}

// downtime is how many voters that answer now do not during the step.
func (s *Step) downtime(o *Observation) int {
	if s.Action == Upgrade || s.Action == Restart || s.Action == Defragment {
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
	case Bootstrap:
		return fmt.Sprintf("form the cluster with %s at %s", member, s.Version)
	case Record:
		return fmt.Sprintf("record that the cluster is formed with %s", member)
	case Recover:
		return fmt.Sprintf("restart %s on its data", member)
	case AddLearner:
		return fmt.Sprintf("add %s at %s as a learner", member, s.Version)
	case CatchUp:
		return fmt.Sprintf("wait until %s has caught up", member)
	case PinInitialState:
		return fmt.Sprintf("let %s start only with its data", member)
	case Promote:
		return fmt.Sprintf("let %s vote", member)
	case AddToService:
		return fmt.Sprintf("send clients to %s", member)
	case MoveLeader:
		return fmt.Sprintf("move the leadership to %s", member)
	case Upgrade:
		return fmt.Sprintf("have %s run %s", member, s.Version)
	case Restart:
		return fmt.Sprintf("recreate the pod of %s on its claim", member)
	case Stop:
		return fmt.Sprintf("stop %s, whose claim stays", member)
	case Resize:
		return fmt.Sprintf("change the resources of %s in place", member)
	case ExpandClaim:
		return fmt.Sprintf("expand the claim of %s", member)
	case Compact:
		return fmt.Sprintf("drop the history before revision %d", s.Revision)
	case Defragment:
		return fmt.Sprintf("defragment %s, which answers nothing meanwhile", member)
	case Disarm:
		return "end the alarm NOSPACE"
	case RaiseQuota:
		return fmt.Sprintf("raise the quota to %s", inBytes(s.Bytes))
	case Settle:
		return fmt.Sprintf("wait until the cluster version is %d.%d", s.Version.Major, s.Version.Minor)
	case EnableDowngrade:
		return fmt.Sprintf("have etcd prepare the downgrade to %d.%d", s.Version.Major, s.Version.Minor)
	case CancelDowngrade:
		return fmt.Sprintf("have etcd end the downgrade to %d.%d", s.Version.Major, s.Version.Minor)
	case DeletePod:
		return fmt.Sprintf("delete the pod of %s", member)
	case RetainUntil:
		return fmt.Sprintf("set the claim of %s aside", member)
	case Unretain:
		return fmt.Sprintf("attach the claim of %s again", member)
	case EnableAuth, DisableAuth:
		return string(s.Action)
	case SetUsers:
		return "set the users that usher logs in as"
	case DeleteClaim:
		return fmt.Sprintf("delete the claim of %s", member)
	}
	return fmt.Sprintf("%s %s", s.Action, member)
}
