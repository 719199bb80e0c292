package etcd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Observed is a cluster as it was last seen, reduced to what decides.
type Observed struct {
	// Formed: the cluster exists, and must never be formed anew.
	Formed bool
	// TLS is what traffic is encrypted, as in the status.
	TLS string
	// ClusterVersion is what all members speak, StorageVersion the format of the
	// data; the patch is 0. Zero is unknown.
	ClusterVersion, StorageVersion Version
	// Members are in the order they were made.
	Members []Member
}

// A Member is a member as it was last seen.
type Member struct {
	Name string
	// Version is what it last said it runs, Target what its pod was told to.
	Version, Target Version
	// Learner does not vote. Leader leads.
	Learner, Leader bool
	// Ready answers; a learner has caught up, too.
	Ready bool
	// Lost cannot come back as itself: its data is gone.
	Lost bool
	// Durable keeps its data when its pod is made anew.
	Durable bool
	// Storage is what its claim asked for.
	Storage resource.Quantity
	// PodRevision and StorageRevision are what it was made from.
	PodRevision, StorageRevision string
}

// made says whether the member was made, beyond its place in the cluster.
func (m *Member) made() bool { return m.Target != (Version{}) }

// Observe reduces a status.
func Observe(s *v1beta2.ClusterStatus) Observed {
	o := Observed{
		Formed: s.ClusterID != "", TLS: s.TLS,
		ClusterVersion: parseLoosely(s.ClusterVersion), StorageVersion: parseLoosely(s.StorageVersion),
	}
	for _, m := range s.MemberStatuses {
		member := Member{
			Name: m.Name, Version: parseLoosely(m.Version), Target: parseLoosely(m.TargetVersion),
			Learner: m.Learner, Leader: m.Leader, Ready: m.Ready, Lost: m.Lost, Durable: m.Claim != "",
			PodRevision: m.PodRevision, StorageRevision: m.StorageRevision,
		}
		if m.Storage != nil {
			member.Storage = *m.Storage
		}
		o.Members = append(o.Members, member)
	}
	return o
}

// Settled is a cluster that is as its spec wants it. It stands in for what was
// seen where only manifests are known. A version that is not run has no members.
func Settled(name string, spec *v1beta2.ClusterSpec) Observed {
	w := want(spec)
	v := w.version
	if !v.Supported() || spec.Size < 1 || spec.Size > maxSize {
		return Observed{}
	}
	o := Observed{
		Formed: true, TLS: w.encrypted,
		ClusterVersion: Version{v.Major, v.Minor, 0}, StorageVersion: Version{v.Major, v.Minor, 0},
	}
	for i := range spec.Size {
		m := w.member(fmt.Sprintf("%s-%d", name, i+1), v)
		m.Version, m.Ready, m.Leader = v, true, i == 0
		o.Members = append(o.Members, m)
	}
	return o
}

// wantedVersion is the version of a spec, zero where it is none.
func wantedVersion(spec *v1beta2.ClusterSpec) Version {
	if spec.Version == "" {
		return parseLoosely(DefaultVersion)
	}
	v, err := ParseVersion(spec.Version)
	if err != nil {
		return Version{}
	}
	return v
}

// Encrypted is what traffic a spec wants encrypted, as in the status: all,
// peers, clients, or none.
func Encrypted(spec *v1beta2.ClusterSpec) string {
	if spec.TLS == nil {
		return ""
	}
	if spec.TLS.CertManager != nil {
		return "all"
	}
	static := spec.TLS.Static
	if static == nil {
		return ""
	}
	clients := static.OperatorSecret != ""
	peers := static.Member != nil && static.Member.PeerSecret != ""
	switch {
	case peers && clients:
		return "all"
	case peers:
		return "peers"
	case clients:
		return "clients"
	}
	return ""
}

// voters counts the members that vote, and those of them that answer.
func (o *Observed) voters() (all, healthy int) {
	for _, m := range o.Members {
		if !m.Learner {
			all++
			if m.Ready {
				healthy++
			}
		}
	}
	return all, healthy
}

// Margin is how many more voters may fail before the cluster stops; below zero
// it has stopped.
func (o *Observed) Margin() int {
	all, healthy := o.voters()
	return healthy - Quorum(all)
}

// Quorum is how many of the voters must agree.
func Quorum(voters int) int { return voters/2 + 1 }

// span is the lowest and the highest version that a member said it runs, zero
// where none did.
func (o *Observed) span() (lowest, highest Version) {
	for _, m := range o.Members {
		if m.Version == (Version{}) {
			continue
		}
		if lowest == (Version{}) || m.Version.Compare(lowest) < 0 {
			lowest = m.Version
		}
		if m.Version.Compare(highest) > 0 {
			highest = m.Version
		}
	}
	return lowest, highest
}
