package observe

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// RecordMembers writes the members into the status, from which the next
// observation reads them, and the version that they have in common.
func (s *Observed) RecordMembers(d *member.Desired, st *etcdv1beta2.ClusterStatus) {
	st.Members, st.MemberStatuses = etcdv1beta2.MembersStatus{}, nil
	st.Quorum = &etcdv1beta2.QuorumStatus{}
	for i := range s.Members {
		m := &s.Members[i]
		if !s.records(m) {
			continue
		}
		status := s.status(m, d)
		st.MemberStatuses = append(st.MemberStatuses, status)
		if status.Ready {
			st.Members.Ready = append(st.Members.Ready, m.Name)
		} else {
			st.Members.Unready = append(st.Members.Unready, m.Name)
		}
		if m.Listed && !m.Learner {
			st.Quorum.Voters++
			if m.Serves() {
				st.Quorum.Healthy++
			}
		}
	}
	if s.Seed != "" && len(st.MemberStatuses) == 0 {
		st.MemberStatuses = []etcdv1beta2.MemberStatus{*s.Known(s.Seed)}
	}
	st.Quorum.Margin = st.Quorum.Healthy - etcd.Quorum(st.Quorum.Voters)
	st.Size = len(st.MemberStatuses)
	if s.Formed {
		st.TLS = etcd.Encrypted(&d.Cluster.Spec)
	}
	s.setVersions(st)
	s.TLS, s.ClusterVersion, s.StorageVersion = st.TLS, etcd.ReadVersion(st.ClusterVersion), etcd.ReadVersion(st.StorageVersion)
}

// RecordFormed writes into the status that the cluster is formed, along with its
// members: without their IDs, the status would not say that they are members.
func (s *Observed) RecordFormed(d *member.Desired, st *etcdv1beta2.ClusterStatus) {
	s.Formed, st.ClusterID = true, Hex(s.ClusterID)
	s.RecordMembers(d, st)
}

// records reports whether the status has the member. Until the cluster is formed
// that is the member that forms it: the status of any other one would say that
// it is that member, which may be created again.
func (s *Observed) records(m *plan.Member) bool {
	return s.Formed && m.Listed || m.Name == s.Seed
}

// status returns the status of a member. Previous values stay while the member
// does not answer.
func (s *Observed) status(m *plan.Member, d *member.Desired) etcdv1beta2.MemberStatus {
	of, known := s.Details[m.Name], s.Known(m.Name)
	status := etcdv1beta2.MemberStatus{
		Name: m.Name, Version: m.Version.String(), TargetVersion: m.Target.String(),
		Learner: m.Learner, Leader: m.Leader, Ready: m.Ready(), Lost: m.DataGone, Message: of.Problem,
		PodRevision: m.PodRevision, SpaceRevision: m.SpaceRevision, StorageRevision: m.StorageRevision,
	}
	if m.Certificates.Peer != nil || m.Certificates.Server != nil {
		status.Certificates = m.Certificates.DeepCopy()
	}
	if known != nil {
		status.LastDefragmentation = known.LastDefragmentation
		status.DatabaseSize = known.DatabaseSize
	}
	if of.Database != nil {
		status.DatabaseSize = of.Database.rounded(status.DatabaseSize)
	}
	if of.ID != 0 && s.Formed {
		status.ID = Hex(of.ID)
	}
	claim := s.Claims[m.Name]
	if claim != nil && m.Claim.Exists {
		status.Claim, status.ClaimUID = m.Name, string(claim.UID)
		if asked, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
			status.Storage = &asked
		}
	} else if known != nil {
		status.Claim, status.ClaimUID, status.Storage = known.Claim, known.ClaimUID, known.Storage
	}
	if m.Listed && !m.Started && !m.Pod.Exists {
		// Its pod will be created from the current manifest.
		status.PodRevision, status.SpaceRevision, status.StorageRevision = d.PodRevision, etcd.SpaceRevision(&d.Cluster.Spec), d.StorageRevision
	}
	since := metav1.NewTime(of.Since)
	switch {
	case known != nil && known.Since != nil:
		since = *known.Since
	case of.Since.IsZero():
		since = metav1.NewTime(s.Now)
	}
	since = since.Rfc3339Copy()
	status.Since = &since
	return status
}

// setVersions sets the current and the target version.
func (s *Observed) setVersions(st *etcdv1beta2.ClusterStatus) {
	var lowest, storage, target etcd.Version
	wanted, same := etcd.WantedVersion(&s.Cluster.Spec), true
	for i := range s.Members {
		m := &s.Members[i]
		if !m.Listed || m.Learner {
			continue
		}
		running := m.Version
		if running == (etcd.Version{}) {
			return // one that never reported its version
		}
		same = same && (lowest == etcd.Version{} || running == lowest)
		if (lowest == etcd.Version{}) || running.Compare(lowest) < 0 {
			lowest = running
		}
		// That of the spec, once a member was told so: in a downgrade it is the older one.
		if target != wanted && (m.Target.Compare(target) > 0 || m.Target == wanted) {
			target = m.Target
		}
		if m.Format != (etcd.Version{}) && (storage == (etcd.Version{}) || m.Format.Compare(storage) < 0) {
			storage = m.Format
		}
	}
	if (lowest == etcd.Version{}) {
		return
	}
	st.ClusterVersion = fmt.Sprintf("%d.%d", lowest.Major, lowest.Minor)
	switch {
	case storage != etcd.Version{}:
		st.StorageVersion = fmt.Sprintf("%d.%d", storage.Major, storage.Minor)
	case lowest.CompareMinor(etcd.ReportsFormat) < 0:
		st.StorageVersion = "" // that of an earlier attempt to form the cluster
	}
	if same || st.CurrentVersion == "" {
		st.CurrentVersion = lowest.String()
	}
	st.TargetVersion = ""
	if target != lowest || !same {
		st.TargetVersion = target.String()
	}
}

// LeaderName returns the name of the leader.
func (s *Observed) LeaderName() string {
	for i := range s.Members {
		if s.Members[i].Leader {
			return s.Members[i].Name
		}
	}
	return ""
}

// RecordStep writes along with the step which claims are set aside, or will be,
// and which members it changes.
func (s *Observed) RecordStep(st *etcdv1beta2.ClusterStatus, t *plan.Step) {
	for i := range st.MemberStatuses {
		if m := s.ByName(st.MemberStatuses[i].Name); m != nil {
			st.MemberStatuses[i].Changed = plan.StillChanged(m, t)
		}
	}
	s.recordSpace(st, t)
	all := map[string]etcdv1beta2.SetAsideClaim{}
	for _, was := range s.Before.SetAside {
		if m := s.ByName(was.Claim); m != nil && !m.Listed && m.Claim.Exists {
			was.Until = nil
			all[was.Claim] = was
		}
	}
	for name, claim := range s.Aside {
		a, _ := member.AsideOf(claim)
		all[name] = etcdv1beta2.SetAsideClaim{Claim: name, Reason: string(a.Reason), Message: a.Why, Until: &a.Until}
	}
	if t != nil && t.Action == plan.Remove {
		if m := s.ByName(t.Member); m != nil && (m.Claim.Exists || m.Claim.Other) {
			all[t.Member] = etcdv1beta2.SetAsideClaim{Claim: t.Member, Reason: string(t.Cause), Message: t.String()}
		}
	}
	st.SetAside = nil
	for _, name := range slices.Sorted(maps.Keys(all)) {
		st.SetAside = append(st.SetAside, all[name])
	}
}

// ByName returns the member with that name, or nil.
func (s *Observed) ByName(name string) *plan.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}
