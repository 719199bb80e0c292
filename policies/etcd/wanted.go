package etcd

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// wanted is a spec with what is made of it, once for all decisions.
type wanted struct {
	*v1beta2.ClusterSpec
	version                      Version // zero where it is none
	encrypted                    string
	podRevision, storageRevision string
	claim                        *corev1.PersistentVolumeClaimSpec
}

func want(spec *v1beta2.ClusterSpec) *wanted {
	return &wanted{
		ClusterSpec: spec, version: wantedVersion(spec), encrypted: Encrypted(spec),
		podRevision: PodRevision(spec), storageRevision: StorageRevision(spec), claim: claimSpec(spec),
	}
}

// member is one as the spec would have it made.
func (w *wanted) member(name string, v Version) Member {
	m := Member{Name: name, Target: v, PodRevision: w.podRevision, StorageRevision: w.storageRevision}
	if w.claim != nil {
		m.Durable, m.Storage = true, w.claim.Resources.Requests[corev1.ResourceStorage]
	}
	return m
}

// current says whether a member can be what the spec wants without another in
// its place: what it stores on cannot be changed, and without a claim neither
// can its pod.
func (w *wanted) current(m *Member) bool {
	return !m.made() || m.StorageRevision == w.storageRevision && (m.Durable || m.PodRevision == w.podRevision)
}
