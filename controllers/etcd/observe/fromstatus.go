package observe

import (
	"strconv"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// Known returns the status of a member before the observation; nil if the status
// does not have it.
func (o *Observed) Known(name string) *etcdv1beta2.MemberStatus {
	for i := range o.Before.MemberStatuses {
		if o.Before.MemberStatuses[i].Name == name {
			return &o.Before.MemberStatuses[i]
		}
	}
	return nil
}

// seedOf returns the name of the member that forms the cluster, until the
// cluster is formed.
func seedOf(status *etcdv1beta2.ClusterStatus) string {
	if status.ClusterID != "" || len(status.MemberStatuses) == 0 {
		return ""
	}
	return status.MemberStatuses[0].Name
}

// fromStatus reads from the status what only the status knows about the members.
func (f *reading) fromStatus() {
	for i := range f.Before.MemberStatuses {
		known := &f.Before.MemberStatuses[i]
		if m := f.found[known.Name]; m != nil {
			readMember(m, known)
		}
	}
	for _, leaving := range f.Before.SetAside {
		if m := f.found[leaving.Claim]; m != nil {
			m.Leaving = plan.Cause(leaving.Reason)
		}
	}
}

func readMember(m *plan.Member, known *etcdv1beta2.MemberStatus) {
	m.Version, m.Target = etcd.ReadVersion(known.Version), etcd.ReadVersion(known.TargetVersion)
	m.Changed, m.Durable = known.Changed, known.Claim != ""
	m.PodRevision, m.SpaceRevision, m.StorageRevision = known.PodRevision, known.SpaceRevision, known.StorageRevision
	if known.Certificates != nil {
		m.Certificates = *known.Certificates
	}
	if known.LastDefragmentation != nil {
		m.Defragmented = known.LastDefragmentation.Time
	}
}

// fallbackToStatus takes the list of members from the status.
func (f *reading) fallbackToStatus() {
	f.Quorum = false
	for i := range f.Before.MemberStatuses {
		known := &f.Before.MemberStatuses[i]
		id, err := strconv.ParseUint(known.ID, 16, 64)
		if err != nil {
			continue // it never was a member
		}
		if f.found[known.Name] == nil {
			readMember(f.member(known.Name), known)
		}
		m := f.found[known.Name]
		m.Listed, m.Started, m.Learner = true, known.Version != "", known.Learner
		f.Details[known.Name].ID = id
	}
}

// namesByID returns the names of the members whose IDs are known.
func (f *reading) namesByID() map[uint64]string {
	names := map[uint64]string{}
	for i := range f.Before.MemberStatuses {
		known := &f.Before.MemberStatuses[i]
		if id, err := strconv.ParseUint(known.ID, 16, 64); err == nil {
			names[id] = known.Name
		}
	}
	for name, of := range f.Details {
		if of.ID != 0 {
			names[of.ID] = name
		}
	}
	return names
}
