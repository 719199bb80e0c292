package member

import (
	"cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// defaultDomain is the default cluster domain.
const defaultDomain = "cluster.local"

// Desired is the desired state from a manifest.
type Desired struct {
	// Cluster is the manifest, without changes that cannot take effect.
	Cluster   *etcdv1beta2.EtcdCluster
	Addresses Addresses
	TLS       TLS
	Auth      Auth
	// PodRevision and StorageRevision are hashes of what pods and claims are
	// created from.
	PodRevision, StorageRevision string
	// Missing describes what members, or their client, need and does not exist.
	Missing string
}

// Desire returns the desired state of a cluster.
func Desire(c *etcdv1beta2.EtcdCluster) *Desired {
	d := &Desired{Cluster: c, TLS: tlsOf(c)}
	d.Addresses = addressesOf(c)
	d.Addresses.PeerTLS, d.Addresses.ClientTLS = d.TLS.peer != nil, d.TLS.Operator != nil
	d.PodRevision, d.StorageRevision = etcd.PodRevision(&c.Spec), etcd.StorageRevision(&c.Spec)
	return d
}

// policy is the manifest's pod policy, or an empty one.
func (d *Desired) policy() etcdv1beta2.PodPolicy {
	if d.Cluster.Spec.Pod == nil {
		return etcdv1beta2.PodPolicy{}
	}
	return *d.Cluster.Spec.Pod
}

// Storage is the storage of new members.
func (d *Desired) Storage() Storage {
	return Storage{Claim: d.policy().PersistentVolumeClaimSpec != nil, Revision: d.StorageRevision}
}

// Image returns the image of a version.
func (d *Desired) Image(version string) string { return etcd.Image(&d.Cluster.Spec, version) }

// domain is the cluster domain that DNS uses.
func (d *Desired) domain() string { return cmp.Or(d.policy().ClusterDomain, defaultDomain) }
