package plan

// An Action is what a step does.
type Action string

// The actions. Each is safe to repeat, whatever the result of the previous
// attempt. Their texts are labels of metrics, so they stay.
const (
	// Wait waits for something that the controller does not do itself.
	Wait Action = "wait"

	// NameFirstMember records the name of the member that will form the cluster.
	NameFirstMember Action = "choose"
	// Bootstrap creates the first member, which forms the cluster, from the
	// current spec; an earlier attempt has not served any clients.
	Bootstrap Action = "form"
	// Record records that the cluster is formed, or is the restored member's.
	Record Action = "record"

	// AddLearner adds a member that does not vote yet.
	AddLearner Action = "add learner"
	// CatchUp waits until a learner has caught up, and creates its pod if
	// necessary.
	CatchUp Action = "catch up"
	// PinInitialState makes a member start only with its data.
	PinInitialState Action = "seal"
	// Promote lets a learner vote.
	Promote Action = "promote"
	// AddToService sends clients to a voter.
	AddToService Action = "expose"

	// Recover runs a member's pod again, with its data, and waits until it
	// answers. It loses nothing.
	Recover Action = "recover"
	// Upgrade makes a member run another version with its data: it changes the
	// image of its pod in place.
	Upgrade Action = "upgrade"
	// Restart deletes a pod whose claim stays, so that it is recreated from the
	// spec.
	Restart Action = "restart"
	// Stop deletes the pod of a member, whose claim and place in the cluster stay,
	// until the cluster wakes.
	Stop Action = "stop"
	// Resize changes the resources of a pod in place, and records once its kubelet
	// has changed them.
	Resize Action = "resize"
	// ExpandClaim has a claim ask for the size in the spec, and records how far its
	// volume has grown.
	ExpandClaim Action = "expand"
	// Settle waits until the members agree on the cluster version.
	Settle Action = "settle"
	// EnableDowngrade has etcd prepare the members for the previous minor version.
	// CancelDowngrade ends that.
	EnableDowngrade Action = "enable downgrade"
	CancelDowngrade Action = "cancel downgrade"
	// MoveLeader moves the leadership to another member.
	MoveLeader Action = "move leader"

	// Compact drops the history before the newest revisions. Defragment returns the
	// free space of a member's database to its volume. Disarm ends the alarm NOSPACE.
	// RaiseQuota records a larger quota, which the members then get like any change.
	Compact    Action = "compact"
	Defragment Action = "defragment"
	Disarm     Action = "disarm"
	RaiseQuota Action = "raise quota"

	// Remove removes a member from etcd's list.
	Remove Action = "remove"
	// DeletePod deletes the pod of a removed member.
	DeletePod Action = "discard"
	// RetainUntil marks the claim of a removed member for deletion.
	RetainUntil Action = "set aside"
	// Unretain removes the mark: etcd lists the claim's member.
	Unretain Action = "reattach"
	// DeleteClaim deletes a claim that was set aside for long enough.
	DeleteClaim Action = "delete"

	// EnableAuth enables etcd's authentication, after it has set the users that it
	// needs. SetUsers sets these users while authentication is enabled.
	EnableAuth Action = "enable authentication"
	SetUsers   Action = "set users"
	// DisableAuth disables etcd's authentication. The users stay.
	DisableAuth Action = "disable authentication"

	// Reserve reserves the cluster for a restore, Release releases it.
	Reserve Action = "hold"
	Release Action = "yield"
	// Adopt makes the cluster the owner of claims, and of the restored member's
	// pod.
	Adopt Action = "adopt"
)

// housekeeping reports whether the action is auxiliary: a plan for people omits
// it.
func (a Action) housekeeping() bool {
	switch a {
	case Wait, NameFirstMember, Record, PinInitialState, AddToService, DeletePod, RetainUntil, Unretain, DeleteClaim, Reserve, Release, Adopt:
		return true
	}
	return false
}
