package member

import (
	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// A Seed is the first member of a cluster whose data comes from a backup: its
// etcd settings, pod and claim.
type Seed struct {
	// Pod starts only with the data. It gets no client traffic.
	Pod *corev1.Pod
	// Claim is nil if the cluster's members have none.
	Claim *corev1.PersistentVolumeClaim
	// PeerURL and Token are the settings with which to create its data.
	PeerURL, Token string
	// ClientURL is where it serves clients.
	ClientURL string
}

// SeedOf returns a cluster's seed with that name and version.
func SeedOf(c *etcdv1beta2.EtcdCluster, name, version string) *Seed {
	d := Desire(c)
	s := &Seed{
		Pod:     d.Pod(name, version, Pinned(d.Addresses, name), d.Storage()),
		PeerURL: d.Addresses.PeerURL(name), ClientURL: d.Addresses.ClientURL(name), Token: string(c.UID),
	}
	if d.Storage().Claim {
		s.Claim = d.Claim(name, "")
	}
	return s
}
