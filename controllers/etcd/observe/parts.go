package observe

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/etcd/plan"
)

// Parts are what the sources say about a cluster.
type Parts struct {
	*Objects
	// Answers are those of the members that were asked, by name.
	Answers map[string]Answer
	// Health are the alarms in the answers of the health endpoints, by name, of
	// members that refuse the controller's client.
	Health map[string][]plan.Alarm
	// List is etcd's list of members.
	List List
	// Received is when a member last received something from another one, as far
	// as that was observed.
	Received map[Link]Reception
	// Nodes tells which nodes report to the API server, of those that were looked
	// at.
	Nodes map[string]bool
	// Classes are why claims of StorageClasses do not grow, or "", of those that were
	// looked at.
	Classes map[string]string
	// Auth is what etcd said about its authentication.
	Auth plan.Auth
	// Missing is what the members, or the controller's client, need but do not
	// have.
	Missing string
	// Certificates is which certificates the members should have.
	Certificates plan.Certificates
	Limits       plan.Limits
}

// An Answer is what a member said when it was asked for its status: one of both
// is nil. The error may be a refusal, which is an answer, too.
type Answer struct {
	Status *clientv3.StatusResponse
	Err    error
}

// A List is etcd's list of members; it is nil if no member returned it.
type List struct {
	*clientv3.MemberListResponse
	// Quorum: a majority agrees on it. Otherwise Err is why not.
	Quorum bool
	Err    error
}

// A Link is a member that receives, and the ID of the one that sends to it, in
// hexadecimal.
type Link struct{ To, From string }
