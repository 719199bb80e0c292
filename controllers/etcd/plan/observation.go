package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/policies/etcd"
)

// An Observation is a cluster as it was last seen, reduced to what decides.
type Observation struct {
	// Now is the controller's own clock, by which Since of members was taken too.
	Now time.Time
	// Limits bound what is done without being asked for.
	Limits Limits
	// Formed: the cluster exists, and must never be formed again.
	Formed bool
	// Seed is the name recorded for the member that forms the cluster.
	Seed string
	// Quorum: the list of members is the one that a majority agrees on.
	Quorum bool
	// Foreign is the id of another cluster that answers in place of this one.
	Foreign string
	// Missing says what the members, or their client, need and do not have.
	Missing string
	// TLS is what traffic is encrypted, as in the status.
	TLS string
	// ClusterVersion is what all members speak, StorageVersion the format of the
	// data; the patch is 0. Zero is unknown.
	ClusterVersion, StorageVersion etcd.Version
	// Members are in the order they were made: those that etcd lists, and those
	// of which only a pod or a claim is left.
	Members []Member
	// SetAside are claims that wait to be deleted.
	SetAside []SetAside
	// Retained are claims of a former cluster of the same name, Adopt is what a
	// person says about them.
	Retained []string
	Adopt    Adoption
	// Restore is the restore that has the cluster; nil where none does.
	Restore *Restore
}

// Limits bound what the controller does on its own judgement.
type Limits struct {
	// MemberTimeout is how long a member may not respond before it is replaced.
	MemberTimeout time.Duration
	// Unasked is how many claims of replacements that nobody asked for may be set
	// aside at once.
	Unasked int
}

// Defaults of the limits, which stand for those that are zero.
const (
	DefaultMemberTimeout = 5 * time.Minute
	DefaultUnasked       = 3
)

func (l Limits) orDefault() Limits {
	return Limits{MemberTimeout: cmp.Or(l.MemberTimeout, DefaultMemberTimeout), Unasked: cmp.Or(l.Unasked, DefaultUnasked)}
}

// A Member is a member as it was last seen.
type Member struct {
	Name string
	// Listed: etcd has it in its list of members. Learner does not vote yet.
	// Started: it has run as a member, so that it had data.
	Listed, Learner, Started bool
	// Answers: it answers the controller, as a member of this cluster with a
	// leader. Leader: it leads.
	Answers, Leader bool
	// PeersReach: members that answer are connected to it.
	PeersReach bool
	// Unresponsive is set while nobody says that it works.
	Unresponsive *Unresponsive
	// DataGone: its data is gone for good: its claim is another one or not there
	// and no pod runs, or its pod is gone and it had no claim, or etcd says so.
	DataGone bool
	// Changed: the controller changed it while it served, and it has not served
	// since.
	Changed bool
	// Leaving is why it was removed, of one that is not listed.
	Leaving Cause
	// Version is what it last said it runs, Target what its pod was told to.
	Version, Target etcd.Version
	Pod             Pod
	Claim           Claim
	// Durable: it keeps its data on a claim, whether that is still there or not.
	Durable bool
	// Storage is what its claim asked for.
	Storage resource.Quantity
	// PodRevision and StorageRevision are what it was made from.
	PodRevision, StorageRevision string
}

// A Witness is somebody who can tell whether a member works.
type Witness uint8

// The witnesses.
const (
	// Client: the member does not answer the controller.
	Client Witness = 1 << iota
	// Kubelet: its pod is not ready, or is not there.
	Kubelet
)

// Unresponsive is since when a member does not respond, and according to whom.
type Unresponsive struct {
	// Since is by the controller's clock: from then on no witness said that the
	// member works, or, where not all of them agree, those of According.
	Since time.Time
	// According are the witnesses who say so now.
	According Witness
}

// A Pod is a member's pod.
type Pod struct {
	// ID tells one pod of the name from the next.
	ID            string
	Exists, Ready bool
	// Ending: it is being deleted. Ended: it will not start again, as after an
	// eviction.
	Ending, Ended bool
	// Sealed: it starts with the member's data or not at all. Exposed: clients
	// are sent to it.
	Sealed, Exposed bool
	// Reason is why it does not run, in a word (ImagePullBackOff), Message in a
	// sentence.
	Reason, Message string
	// Stuck: the kubelet or the scheduler says that it cannot run as it is.
	// Shared: another member's pod would fare the same, as where there is no such
	// image.
	Stuck, Shared bool
}

// A Claim is a member's PersistentVolumeClaim.
type Claim struct {
	Exists bool
	// Ending: it is being deleted, and goes once no pod uses it.
	Ending bool
	// Other: one of its name is there that is not its own, and is set aside in its
	// place.
	Other bool
}

// A Cause is why a member was removed.
type Cause string

// The causes. Those that nobody asked for are limited.
const (
	// Unknown: the controller died before it was known.
	Unknown Cause = ""
	// DataGone: its data is gone, the others have it.
	DataGone Cause = "DataGone"
	// NotResponding: it did not respond for too long.
	NotResponding Cause = "Unresponsive"
	// Shrunk: fewer members are wanted.
	Shrunk Cause = "Shrunk"
	// Replaced: another member, made from the spec as it is, stands in for it.
	Replaced Cause = "Replaced"
	// Unneeded: a learner that is not needed any more, or of another spec.
	Unneeded Cause = "Unneeded"
	// NeverFormed: an attempt to form the cluster that never served.
	NeverFormed Cause = "NeverFormed"
	// Restored: a restored member took its place.
	Restored Cause = "Restored"
)

// Asked says whether a person asked for it.
func (c Cause) Asked() bool {
	switch c {
	case Shrunk, Replaced, Unneeded, NeverFormed, Restored:
		return true
	}
	return false
}

// A SetAside is a claim that is deleted later.
type SetAside struct {
	Claim string
	// Cause is why its member was removed.
	Cause Cause
	// Until is when it may be deleted.
	Until time.Time
	// Held: it is kept for longer, since a restore that made it unnecessary is
	// still there.
	Held bool
	// Listed: etcd lists its member.
	Listed bool
}

// An Adoption says what is done with claims of a former cluster.
type Adoption string

// The adoptions.
const (
	// AdoptUndecided: nobody has said anything.
	AdoptUndecided Adoption = ""
	// AdoptClaims: the cluster is made of those claims.
	AdoptClaims Adoption = "adopt"
	// IgnoreClaims: another cluster is formed next to them.
	IgnoreClaims Adoption = "ignore"
)

// Healthy says whether the member does its work.
func (m *Member) Healthy() bool { return m.Answers && m.Pod.Exists && !m.Pod.Ending && !m.Pod.Ended }

// Ready says whether it may be counted on: its kubelet says so too. A learner
// serves nobody, so that it need not be ready to.
func (m *Member) Ready() bool { return m.Healthy() && (m.Pod.Ready || m.Learner) }

// voting says whether it is a voter.
func (m *Member) voting() bool { return m.Listed && !m.Learner }

// made says whether the member was made, beyond its place in the cluster.
func (m *Member) made() bool { return m.Target != (etcd.Version{}) }

// running says whether it has a pod that may run.
func (m *Member) running() bool { return m.Pod.Exists && !m.Pod.Ended }

// doomed says that its data goes when its pod does.
func (m *Member) doomed() bool { return m.Durable && m.Started && (!m.Claim.Exists || m.Claim.Ending) }

// lost says that it cannot come back as itself.
func (m *Member) lost() bool { return m.DataGone || m.doomed() && !m.running() && !m.Pod.Ending }

// works says whether anybody sees it take part in the cluster.
func (m *Member) works() bool { return m.Answers || m.PeersReach }

// silent says that the client and the kubelet agree that it does not work, and
// that no other member says that it does.
func (m *Member) silent() bool {
	return !m.works() && m.Unresponsive != nil && m.Unresponsive.According == Client|Kubelet
}

// ownChange says whether it does not serve because of what the controller
// changed about it: it was told to run what it has never run, or its pod is not
// the one that it served with.
func (m *Member) ownChange() bool {
	return m.Changed || m.made() && m.Version != (etcd.Version{}) && m.Target != m.Version
}

// silentFor says for how long the member has been silent.
func (o *Observation) silentFor(m *Member) time.Duration {
	if !m.silent() {
		return 0
	}
	return o.Now.Sub(m.Unresponsive.Since)
}

// voters counts the members that vote, and those of them that answer.
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

// decides says whether the voters can agree, and did agree on who they are.
func (o *Observation) decides() bool {
	voters, healthy := o.voters()
	return o.Quorum && healthy >= etcd.Quorum(voters)
}

// Margin is how many more voters may fail before the cluster stops; below zero
// it has stopped.
func (o *Observation) Margin() int {
	all, healthy := o.voters()
	return healthy - etcd.Quorum(all)
}

// span is the lowest and the highest version that a member said it runs, zero
// where none did.
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

// named is the member of that name; nil where nothing was seen of it.
func (o *Observation) named(name string) *Member {
	for i := range o.Members {
		if o.Members[i].Name == name {
			return &o.Members[i]
		}
	}
	return nil
}

// unasked counts the claims set aside, or about to be, that nobody asked for.
func (o *Observation) unasked() int {
	n := 0
	for _, s := range o.SetAside {
		if !s.Cause.Asked() {
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
