package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// wanted is a spec with what is made of it, once for all decisions.
type wanted struct {
	*v1beta2.ClusterSpec
	version                      etcd.Version // zero where it is not one
	encrypted                    string
	podRevision, storageRevision string
	claim                        *corev1.PersistentVolumeClaimSpec
}

func want(spec *v1beta2.ClusterSpec) *wanted {
	return &wanted{
		ClusterSpec: spec, version: etcd.WantedVersion(spec), encrypted: etcd.Encrypted(spec),
		podRevision: etcd.PodRevision(spec), storageRevision: etcd.StorageRevision(spec), claim: etcd.ClaimSpec(spec),
	}
}

// member is one as the spec would have it made.
func (w *wanted) member(name string, v etcd.Version) Member {
	m := Member{Name: name, Listed: true, Target: v, PodRevision: w.podRevision, StorageRevision: w.storageRevision}
	m.Pod.Exists = true
	if w.claim != nil {
		m.Durable, m.Claim.Exists, m.Storage = true, true, w.claim.Resources.Requests[corev1.ResourceStorage]
	}
	return m
}

// current says whether a member can be what the spec wants without another in
// its place: what it stores on cannot be changed, and without a claim neither
// can its pod. One whose claim goes with its pod needs another, too.
func (w *wanted) current(m *Member) bool {
	return !m.made() || m.StorageRevision == w.storageRevision && (m.Durable || m.PodRevision == w.podRevision) && !m.doomed()
}
