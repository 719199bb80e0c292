package etcdcluster

import (
	"github.com/usher-dev/usher/policies/etcd"
)

// An action is what a step does.
type action string

// The actions. Each can be repeated: done twice it does what it does once.
const (
	// doNothing: the cluster is as far as it can be.
	doNothing action = ""
	// doWait: something is under way that the controller does not do itself.
	doWait action = "Wait"
	// doChoose: record the name of the member that will form the cluster.
	doChoose action = "Choose"
	// doForm: make the pod that forms the cluster, its claim before.
	doForm action = "Form"
	// doRecord: record that the cluster was formed.
	doRecord action = "Record"
	// doAdd: add a learner to etcd's list.
	doAdd action = "Add"
	// doJoin: make the pod of a new learner, its claim before.
	doJoin action = "Join"
	// doSeal: let the member start with its data or not at all.
	doSeal action = "Seal"
	// doPromote: let a learner vote.
	doPromote action = "Promote"
	// doAdmit: let clients be sent to a voter.
	doAdmit action = "Admit"
	// doRestore: make the pod of a member again, on its claim.
	doRestore action = "Restore"
	// doRestart: delete a pod whose claim stays, so that it is made again.
	doRestart action = "Restart"
	// doMoveLeader: let the member lead.
	doMoveLeader action = "MoveLeader"
	// doRemove: take a member off etcd's list.
	doRemove action = "Remove"
	// doDiscard: delete the pod and the claim of who is no member.
	doDiscard action = "Discard"
	// doUpgrade: tell a pod to run another version.
	doUpgrade action = "Upgrade"
)

// A step is the one thing to do next.
type step struct {
	do     action
	member member
	// version is what the member is to run.
	version string
	// why is for people.
	why string
}

// waitFor is a step that waits.
func waitFor(m member, why string) (step, bool) { return step{do: doWait, member: m, why: why}, true }

// next decides what to do: what the plan says next, after what must be in order
// before it. A phase that has nothing to do leaves it to the one below.
func next(v view, plan etcd.Plan) step {
	if plan.Blocked == etcd.Paused {
		return step{why: plan.Message}
	}
	for _, phase := range []func(view, *etcd.Step) (step, bool){
		distrust, // members of another cluster
		form,     // the first member
		discard,  // what members left behind
		seal,     // voters start with their data or not at all
		revive,   // members whose pod is gone
		follow,   // the plan
	} {
		if s, ok := phase(v, plan.Now()); ok {
			return s
		}
	}
	return step{}
}
