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
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// errUnknownClaim means that the owner of the data on a claim is unknown.
var errUnknownClaim = errors.New("it does not name in the annotation " + wellknown.AnnotationEtcdMember + " the member whose data it has: restore a backup, or delete the claim")

// Adopt implements plan.Executor: it forms the cluster from the claims of a former
// one of its name, whose annotations name the members. It writes the status
// last: until then nothing starts on them.
func (e *steps) Adopt(ctx context.Context, _ plan.Step) error {
	cluster, s := e.d.Cluster, e.s
	members := map[string]member.Identity{}
	clusterID := ""
	claims := slices.Clone(s.Former)
	for _, name := range slices.Sorted(maps.Keys(s.Claims)) {
		claims = append(claims, s.Claims[name]) // by an earlier attempt
	}
	for _, claim := range claims {
		var of member.Identity
		if json.Unmarshal([]byte(claim.Annotations[wellknown.AnnotationEtcdMember]), &of) != nil || of.ID == "" {
			return fmt.Errorf("adopting the claim %s: %w", claim.Name, errUnknownClaim)
		}
		if clusterID != "" && of.ClusterID != clusterID {
			return fmt.Errorf("adopting the claim %s: it belongs to the etcd cluster %s, and another claim to %s: delete or relabel the claims to leave out", claim.Name, of.ClusterID, clusterID)
		}
		clusterID, members[claim.Name] = of.ClusterID, of
		if is := etcd.Encrypted(&cluster.Spec); of.TLS != is {
			return fmt.Errorf("adopting the claim %s: its member encrypted %q, and spec.TLS asks for %q", claim.Name, of.TLS, is)
		}
	}
	namespace, err := member.NamespaceUID(ctx, e.Reader, cluster.Namespace)
	if err != nil {
		return err
	}
	cluster.Status.MemberStatuses = nil
	for _, claim := range claims {
		changed := claim.DeepCopy()
		changed.OwnerReferences = member.Owners(cluster, namespace)
		if err := e.PatchClaim(ctx, claim, changed); err != nil {
			return err
		}
		cluster.Status.MemberStatuses = append(cluster.Status.MemberStatuses, adopted(claim, members[claim.Name]))
	}
	cluster.Status.ClusterID, cluster.Status.TLS = clusterID, etcd.Encrypted(&cluster.Spec)
	return writeStatus(ctx, e.Client, cluster)
}

func adopted(claim *corev1.PersistentVolumeClaim, of member.Identity) etcdv1beta2.MemberStatus {
	asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return etcdv1beta2.MemberStatus{
		Name: claim.Name, ID: of.ID, Version: of.Version, TargetVersion: of.Version,
		Claim: claim.Name, ClaimUID: string(claim.UID), Storage: &asked, Since: &claim.CreationTimestamp,
		StorageRevision: claim.Annotations[wellknown.AnnotationEtcdStorageRevision],
	}
}
