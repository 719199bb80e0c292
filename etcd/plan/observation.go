package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// An Observation is the last observed state of a cluster, reduced to what
// decisions depend on.
type Observation struct {
	// Now is the controller's own clock, which is also the clock of Since in
	// members.
	Now time.Time
	// Limits limits automatic actions.
	Limits Limits
	// Formed: the cluster exists, and must never be formed again.
	Formed bool
	// Seed is the recorded name of the member that forms the cluster.
	Seed string
	// Alarms are the alarms that are raised, with the names of the members that
	// raised them, if they are known.
	Alarms map[Alarm][]string
	// Dormant: the spec hibernates the cluster, so that the silence of its members
	// means nothing.
	Dormant bool
	// Quorum: a majority agrees on the list of members.
	Quorum bool
	// Foreign is the ID of another cluster that answers in place of this one.
	Foreign string
	// Missing describes what the members, or their client, need but do not have.
	Missing string
	// TLS is the encrypted traffic, as in the status.
	TLS string
	// ClusterVersion is etcd's cluster version, StorageVersion the format of the
	// data; the patch is 0. Zero is unknown.
	ClusterVersion, StorageVersion etcd.Version
	// Downgrade is the minor version for which etcd prepares the members, or has
	// prepared them; zero if it does not, or if no member says so.
	Downgrade etcd.Version
	// Certificates is which certificates the members should have.
	Certificates Certificates
	// Members are in the order of their creation: those in etcd's list, and those
	// of which only a pod or a claim is left.
	Members []Member
	// SetAside are claims that wait to be deleted.
	SetAside []SetAside
	// Retained are claims of a former cluster of the same name, Adopt is the
	// decision about them.
	Retained []string
	Adopt    Adoption
	// Unadoptable is why the cluster cannot be formed from those claims; "" if it
	// can. Orphans are the pods of a former cluster that still run.
	Unadoptable string
	Orphans     []string
	// Auth is etcd's authentication.
	Auth Auth
	// Restore is the restore that has reserved the cluster, or nil.
	Restore *Restore
	// Space is what is known of the space of the databases.
	Space Space
}

// Limits limits what the controller does without being asked.
type Limits struct {
	// MemberTimeout is how long a member may not respond before it is replaced.
	MemberTimeout time.Duration
	// Unasked is how many claims of automatic replacements may be set aside at
	// once.
	Unasked int
}

// Defaults of the limits.
const (
	DefaultMemberTimeout = 5 * time.Minute
	DefaultUnasked       = 3
)

func (l Limits) orDefault() Limits {
	return Limits{MemberTimeout: cmp.Or(l.MemberTimeout, DefaultMemberTimeout), Unasked: cmp.Or(l.Unasked, DefaultUnasked)}
}

// A Member is the last observed state of a member.
type Member struct {
	Name string
	// Listed: etcd has it in its list of members. Learner: it does not vote yet.
	// Started: it has run as a member, so that it had data.
	Listed, Learner, Started bool
	// Answers: it answers the controller, as a member of this cluster with a
	// leader. Leader: it is the leader.
	Answers, Leader bool
	// Leaderless: it answers the controller as a member of this cluster, but knows
	// no leader. Refusal is why it refuses the controller's client, in a phrase;
	// "" if it does not.
	Leaderless bool
	Refusal    string
	// Late: it has not answered the controller in time.
	Late bool
	// Stranger: it answers the controller as a member of another cluster.
	Stranger bool
	// PeersReach: another member has received something from it lately.
	// PeersUnsure: another member counts what it receives from it, and only the
	// next observation tells whether that grows.
	PeersReach, PeersUnsure bool
	// Unresponsive is set while a witness says that it does not work.
	Unresponsive *Unresponsive
	// DataGone: its data is lost for good, see Memory.Update.
	DataGone bool
	// NoVolume: its claim was replaced or is missing and no pod runs, or its pod is
	// gone and it had no claim. SaysEmpty: etcd ended because it found no data on
	// its volume; one that is not mounted for a moment looks the same.
	NoVolume, SaysEmpty bool
	// Changed: the controller changed it while it served, and it has not served
	// since.
	Changed bool
	// Leaving is why it was removed, if it is not listed.
	Leaving Cause
	// Version is the version that it last reported, Target the one that its pod
	// was told to run.
	Version, Target etcd.Version
	// Format is the format of its data, if it reports it, as from etcd 3.6. The
	// patch is 0.
	Format etcd.Version
	Pod    Pod
	Claim  Claim
	// Durable: it has its data on a claim, whether or not that still exists.
	Durable bool
	// Storage is the size that its claim requests, Capacity that of its volume; zero
	// until it is known.
	Storage, Capacity resource.Quantity
	// PodRevision, SpaceRevision and StorageRevision are hashes of what it was
	// created from.
	PodRevision, SpaceRevision, StorageRevision string
	// Database is the size of its database; nil if it has not said it.
	Database *Database
	// Lag is how many entries of the log it has not applied, of those that any member
	// has.
	Lag uint64
	// Defragmented is when it was last defragmented.
	Defragmented time.Time
	// Certificates is what its pod was created with. Without a record it has what
	// Certificates.Current of the observation says.
	Certificates v1beta2.MemberCertificates
}

// A Witness can tell whether a member works.
type Witness uint8

// The witnesses.
const (
	// Client: the member does not answer the controller.
	Client Witness = 1 << iota
	// Kubelet: its pod is not ready, or does not exist.
	Kubelet
)

// Unresponsive is since when a member does not respond, and according to whom.
type Unresponsive struct {
	// Since is by the controller's clock: since then the witnesses have said the
	// same of the member.
	Since time.Time
	// According are the witnesses that currently say so.
	According Witness
}

// A Pod is a member's pod.
type Pod struct {
	// ID distinguishes the pods of the name.
	ID     string
	Exists bool
	// Ready: its kubelet says that its container is ready, and its node reports.
	Ready bool
	// Ending: it is being deleted. Ended: it will not start again, as after an
	// eviction.
	Ending, Ended bool
	// Sealed: it starts only with the member's data. Exposed: clients are sent to
	// it.
	Sealed, Exposed bool
	// Digest is the digest in the spec by which its container was told to run the
	// version, and does; "" if it does not, or runs it by the tag.
	Digest string
	// Resize is about its resources.
	Resize Resizing
	// Reason is why it does not run, in a word (ImagePullBackOff), Message in a
	// sentence.
	Reason, Message string
	// Stuck: the kubelet or the scheduler says that it cannot run as it is.
	// Shared: another member's pod would have the same problem, such as a missing
	// image.
	Stuck, Shared bool
}

// A Claim is a member's PersistentVolumeClaim.
type Claim struct {
	Exists bool
	// Ending: it is being deleted, which completes once no pod uses it.
	Ending bool
	// Other: another claim of its name exists, and is set aside in its place.
	Other bool
	// Expansion is about its size.
	Expansion Expansion
}

// A Cause is why a member was removed.
type Cause string

// The causes. Automatic ones are limited.
const (
	// Unknown: nothing says why.
	Unknown Cause = ""
	// DataGone: its data is lost, and the others have a copy.
	DataGone Cause = "DataGone"
	// NotResponding: it did not respond for too long.
	NotResponding Cause = "Unresponsive"
	// Shrunk: spec.size is lower.
	Shrunk Cause = "Shrunk"
	// Replaced: a member from the current spec replaces it.
	Replaced Cause = "Replaced"
	// Unneeded: a learner that the cluster does not need any more, or from an earlier spec.
	Unneeded Cause = "Unneeded"
	// NeverFormed: an attempt to form the cluster that never served.
	NeverFormed Cause = "NeverFormed"
	// Restored: a restored member replaced it.
	Restored Cause = "Restored"
	// RemovedByHand: it left etcd's list, and not because of the controller, which
	// records the cause before it removes a member.
	RemovedByHand Cause = "RemovedByHand"
)

// Asked reports whether a person asked for it.
func (c Cause) Asked() bool {
	switch c {
	case Shrunk, Replaced, Unneeded, NeverFormed, Restored, RemovedByHand:
		return true
	}
	return false
}

// A SetAside is a claim that is deleted later.
type SetAside struct {
	Claim string
	// Cause is why its member was removed.
	Cause Cause
	// Former: a former cluster of the name has set it aside.
	Former bool
	// Until is when it may be deleted.
	Until time.Time
	// Held: it is kept for longer, while the restore that replaced it exists.
	Held bool
	// Listed: etcd lists its member.
	Listed bool
}

// An Adoption is the decision about claims of a former cluster.
type Adoption string

// The adoptions.
const (
	// AdoptUndecided: the user has not decided yet.
	AdoptUndecided Adoption = ""
	// AdoptClaims: the cluster is formed from those claims.
	AdoptClaims Adoption = "adopt"
	// IgnoreClaims: another cluster is formed next to them.
	IgnoreClaims Adoption = "ignore"
)

// Healthy reports whether the member works.
func (m *Member) Healthy() bool { return m.Answers && m.Pod.Exists && !m.Pod.Ending && !m.Pod.Ended }

// Ready reports whether the member is reliable: its kubelet says so, too. A
// learner serves no clients, so the kubelet does not matter.
func (m *Member) Ready() bool { return m.Healthy() && (m.Pod.Ready || m.Learner) }

// Serves reports whether the member works according to the controller's client or
// its kubelet: one that is slow, or refuses the client, serves others.
func (m *Member) Serves() bool { return m.Healthy() || m.vouched() && !m.Stranger }

// voting reports whether it is a voter.
func (m *Member) voting() bool { return m.Listed && !m.Learner }

// made reports whether objects of the member exist, beyond its place in the
// cluster.
func (m *Member) made() bool { return m.Target != (etcd.Version{}) }

// running reports whether it has a pod that may run.
func (m *Member) running() bool { return m.Pod.Exists && !m.Pod.Ended }

// doomed reports whether its data will be lost with its pod.
func (m *Member) doomed() bool { return m.Durable && m.Started && (!m.Claim.Exists || m.Claim.Ending) }

// lost reports whether only a new member can replace it.
func (m *Member) lost() bool {
	return !m.Lives() && (m.DataGone || m.doomed() && !m.running() && !m.Pod.Ending)
}

// ownChange reports whether it does not serve because of the controller's
// change: it was told to run what it has never run, or its pod is not the one
// with which it served.
func (m *Member) ownChange() bool {
	return m.Changed || m.made() && m.Version != (etcd.Version{}) && m.Target != m.Version
}

// voters counts the voting members, and those of them that answer.
func (o *Observation) voters() (all, healthy int) {
	for i := range o.Members {
		if m := &o.Members[i]; m.voting() {
			all++
			if m.Healthy() {
				healthy++
			}
		}
	}
	return all, healthy
}

// Voters counts the voting members.
func (o *Observation) Voters() int {
	all, _ := o.voters()
	return all
}

// decides reports whether the voters have a quorum, and agreed on the list of
// members.
func (o *Observation) decides() bool {
	voters, healthy := o.voters()
	return o.Quorum && healthy >= etcd.Quorum(voters)
}

// Margin returns how many more voters may fail before the cluster loses its
// quorum; it is negative once the quorum is lost.
func (o *Observation) Margin() int {
	all, healthy := o.voters()
	return healthy - etcd.Quorum(all)
}

// span returns the lowest and the highest version that members reported, or
// zero.
func (o *Observation) span() (lowest, highest etcd.Version) {
	for i := range o.Members {
		m := &o.Members[i]
		if !m.Listed || m.Version == (etcd.Version{}) {
			continue
		}
		if lowest == (etcd.Version{}) || m.Version.Compare(lowest) < 0 {
			lowest = m.Version
		}
		if m.Version.Compare(highest) > 0 {
			highest = m.Version
		}
	}
	return lowest, highest
}

// Newest returns the newest version that a member of the cluster reported, or zero.
func (o *Observation) Newest() etcd.Version {
	_, highest := o.span()
	return highest
}

// named returns the member with that name, or nil.
func (o *Observation) named(name string) *Member {
	for i := range o.Members {
		if o.Members[i].Name == name {
			return &o.Members[i]
		}
	}
	return nil
}

// unasked counts the claims of automatic removals that are set aside, or about
// to be.
func (o *Observation) unasked() int {
	n := 0
	for _, s := range o.SetAside {
		if !s.Cause.Asked() && !s.Former {
			n++
		}
	}
	for i := range o.Members {
		if m := &o.Members[i]; !m.Listed && m.Claim.Exists && !m.Claim.Ending && o.Formed && !m.Leaving.Asked() {
			n++
		}
	}
	return n
}
