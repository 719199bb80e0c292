package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/policies/etcd"
)

// errUnknownClaim tells that nothing says whose data is on a claim.
var errUnknownClaim = errors.New("it does not say in the annotation " + AnnotationMember + " whose data is on it: restore a backup, or delete it")

// adopt makes the cluster of the claims of a former one of its name, of which the
// annotations tell the members. The status is written last: until then nothing is
// started on them.
func (c *Controller) adopt(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, s *observed) error {
	members := map[string]identity{}
	clusterID := ""
	claims := slices.Clone(s.retained)
	for _, name := range slices.Sorted(maps.Keys(s.claims)) {
		claims = append(claims, s.claims[name]) // by an attempt before
	}
	for _, claim := range claims {
		var of identity
		if json.Unmarshal([]byte(claim.Annotations[AnnotationMember]), &of) != nil || of.ID == "" {
			return fmt.Errorf("adopting the claim %s: %w", claim.Name, errUnknownClaim)
		}
		if clusterID != "" && of.ClusterID != clusterID {
			return fmt.Errorf("adopting the claim %s: it is of the etcd cluster %s, and another is of %s: delete, or label otherwise, those that are not wanted", claim.Name, of.ClusterID, clusterID)
		}
		clusterID, members[claim.Name] = of.ClusterID, of
		if is := etcd.Encrypted(&cluster.Spec); of.TLS != is {
			return fmt.Errorf("adopting the claim %s: its member had %q encrypted, and spec.TLS wants %q", claim.Name, of.TLS, is)
		}
	}
	namespace, err := c.namespaceUID(ctx, cluster.Namespace)
	if err != nil {
		return err
	}
	cluster.Status.MemberStatuses = nil
	for _, claim := range claims {
		changed := claim.DeepCopy()
		changed.OwnerReferences = claimOwners(cluster, namespace)
		if err := c.patchClaim(ctx, claim, changed); err != nil {
			return err
		}
		cluster.Status.MemberStatuses = append(cluster.Status.MemberStatuses, adopted(claim, members[claim.Name]))
	}
	cluster.Status.ClusterID, cluster.Status.TLS = clusterID, etcd.Encrypted(&cluster.Spec)
	return c.writeStatus(ctx, cluster)
}

func adopted(claim *corev1.PersistentVolumeClaim, of identity) etcdv1beta2.MemberStatus {
	asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return etcdv1beta2.MemberStatus{
		Name: claim.Name, ID: of.ID, Version: of.Version, TargetVersion: of.Version,
		Claim: claim.Name, ClaimUID: string(claim.UID), Storage: &asked, Since: &claim.CreationTimestamp,
		StorageRevision: claim.Annotations[AnnotationStorageRevision],
	}
}
