package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// Observe returns a cluster according to its status, if nothing else is known:
// it assumes that everything else is in order.
func Observe(s *v1beta2.ClusterStatus) Observation {
	o := Observation{
		Formed: s.ClusterID != "", TLS: s.TLS,
		ClusterVersion: etcd.ReadVersion(s.ClusterVersion), StorageVersion: etcd.ReadVersion(s.StorageVersion),
	}
	enabled := s.Condition(v1beta2.ClusterAuthenticationEnabled)
	o.Auth = Auth{Known: o.Formed, Enabled: enabled != nil && enabled.Status == corev1.ConditionTrue}
	for _, m := range s.MemberStatuses {
		member := Member{
			Name: m.Name, Version: etcd.ReadVersion(m.Version), Target: etcd.ReadVersion(m.TargetVersion),
			Listed: true, Learner: m.Learner, Leader: m.Leader, DataGone: m.Lost, Durable: m.Claim != "",
			Format: formatOf(etcd.ReadVersion(m.Version), etcd.ReadVersion(s.StorageVersion)), PodRevision: m.PodRevision, SpaceRevision: m.SpaceRevision, StorageRevision: m.StorageRevision, Changed: m.Changed,
		}
		if m.Certificates != nil {
			member.Certificates = *m.Certificates
		}
		if m.Storage != nil {
			member.Storage = *m.Storage
		}
		member.Started = member.Version != (etcd.Version{})
		member.Claim.Exists = member.Durable && !m.Lost
		if member.made() && !m.Lost && s.Phase != v1beta2.ClusterPhaseHibernated {
			member.Pod = Pod{Exists: true, Sealed: true, Exposed: !m.Learner}
		}
		if m.Ready {
			member.Answers, member.Pod.Ready = true, true
			member.Pod.Exists = true
		} else {
			member.Unresponsive = &Unresponsive{According: Client | Kubelet}
		}
		o.Members = append(o.Members, member)
	}
	if !o.Formed && len(o.Members) > 0 {
		o.Seed = o.Members[0].Name
	}
	voters, healthy := o.voters()
	o.Quorum = healthy >= etcd.Quorum(voters)
	return o
}

// Settled returns a cluster that matches its spec. It replaces the observation
// if only manifests are known. An unsupported version has no members.
func Settled(name string, spec *v1beta2.ClusterSpec) Observation {
	w := want(spec)
	v := w.version
	if !v.Supported() || spec.Size < 1 || spec.Size > maxSize {
		return Observation{}
	}
	o := Observation{
		Formed: true, Quorum: true, TLS: w.encrypted,
		ClusterVersion: v.WithoutPatch(), StorageVersion: v.WithoutPatch(),
		Auth: Auth{Known: true, Enabled: spec.Auth != nil && spec.Auth.Enabled},
	}
	for i := range spec.Size {
		m := w.member(fmt.Sprintf("%s-%d", name, i+1), v)
		m.serve(v)
		m.Format = formatOf(v, v)
		m.PodRevision = etcd.JoinRevision(m.PodRevision, "", etcd.ImageDigest(spec, v.String()))
		m.Leader, m.Pod.Exposed = i == 0, true
		o.Members = append(o.Members, m)
	}
	return o
}

// serve makes a member run a version and answer.
func (m *Member) serve(v etcd.Version) {
	m.Version, m.Started, m.Answers, m.Changed, m.Unresponsive = v, true, true, false, nil
	m.Pod.Exists, m.Pod.Ready, m.Pod.Ended, m.Pod.Ending, m.Pod.Sealed = true, true, false, false, true
}

// formatOf returns the format that a member of that version reports.
func formatOf(v, storage etcd.Version) etcd.Version {
	if v.CompareMinor(etcd.ReportsFormat) < 0 {
		return etcd.Version{}
	}
	return storage.WithoutPatch()
}
