package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// wanted is a spec with derived values, computed once for all decisions.
type wanted struct {
	*v1beta2.ClusterSpec
	version                      etcd.Version // zero if it is invalid
	encrypted                    string
	podRevision, storageRevision string
	spaceRevision                string
	claim                        *corev1.PersistentVolumeClaimSpec
}

func want(spec *v1beta2.ClusterSpec) *wanted {
	return &wanted{
		ClusterSpec: spec, version: etcd.WantedVersion(spec), encrypted: etcd.Encrypted(spec),
		podRevision: etcd.PodRevision(spec), storageRevision: etcd.StorageRevision(spec), claim: etcd.ClaimSpec(spec),
		spaceRevision: etcd.SpaceRevision(spec),
	}
}

// member returns a member from the current spec.
func (w *wanted) member(name string, v etcd.Version) Member {
	m := Member{Name: name, Listed: true, Target: v, PodRevision: w.podRevision, SpaceRevision: w.spaceRevision, StorageRevision: w.storageRevision}
	m.Pod.Exists = true
	if w.claim != nil {
		m.Durable, m.Claim.Exists, m.Storage = true, true, w.claim.Resources.Requests[corev1.ResourceStorage]
	}
	return m
}

// current reports whether a member can match the spec without a replacement:
// its storage can only grow, and without a claim its pod only changes in place. One whose
// claim is deleted with its pod needs a replacement, too.
func (w *wanted) current(m *Member) bool {
	return !m.made() || w.keepsStorage(m) && (m.Durable || w.becomesFresh(m)) && !m.doomed()
}

// freshPod reports whether the member's pod is from the current spec.
func (w *wanted) freshPod(m *Member) bool {
	return m.PodRevision == w.podRevision && m.SpaceRevision == w.spaceRevision
}

// becomesFresh reports whether the member's pod is from the current spec, or can
// change in place.
func (w *wanted) becomesFresh(m *Member) bool {
	return m.SpaceRevision == w.spaceRevision && (m.PodRevision == w.podRevision || m.Pod.Resize.inPlace())
}
