package cluster

import (
	"cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// defaultDomain is the default cluster domain.
const defaultDomain = "cluster.local"

// A desired is the desired state from a manifest.
type desired struct {
	// cluster is the manifest, without what the gate holds back.
	cluster   *etcdv1beta2.EtcdCluster
	addresses addresses
	tls       secured
	// podRevision and storageRevision are hashes of what pods and claims are
	// created from.
	podRevision, storageRevision string
	// unable describes what is missing that members, or their client, need.
	unable string
}

func desire(c *etcdv1beta2.EtcdCluster) *desired {
	d := &desired{cluster: c, tls: securedBy(c)}
	policy := d.policy()
	d.addresses = addresses{
		cluster: c.Name, namespace: c.Namespace, domain: policy.ClusterDomain,
		peerTLS: d.tls.peer != nil, clientTLS: d.tls.operator != nil,
	}
	d.podRevision, d.storageRevision = etcd.PodRevision(&c.Spec), etcd.StorageRevision(&c.Spec)
	return d
}

// policy is the manifest's pod policy, or an empty one.
func (d *desired) policy() etcdv1beta2.PodPolicy {
	if d.cluster.Spec.Pod == nil {
		return etcdv1beta2.PodPolicy{}
	}
	return *d.cluster.Spec.Pod
}

// storage is the storage of new members.
func (d *desired) storage() storage {
	return storage{claim: d.policy().PersistentVolumeClaimSpec != nil, revision: d.storageRevision}
}

// image returns the image of a version.
func (d *desired) image(version string) string {
	return cmp.Or(d.cluster.Spec.Repository, etcd.DefaultRepository) + ":v" + version
}

// domain is the cluster domain that DNS uses.
func (d *desired) domain() string { return cmp.Or(d.policy().ClusterDomain, defaultDomain) }
