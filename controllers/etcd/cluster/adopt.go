package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// Adopt implements plan.Executor: it forms the cluster from the claims of a former
// one of its name, whose annotations name the members. It writes the status
// last: until then nothing starts on them.
func (e *steps) Adopt(ctx context.Context, _ plan.Step) error {
	cluster := e.d.Cluster
	former, err := e.s.Adoptable()
	if err != nil {
		return err
	}
	namespace, err := member.NamespaceUID(ctx, e.Reader, cluster.Namespace)
	if err != nil {
		return err
	}
	cluster.Status.MemberStatuses = nil
	for _, claim := range former.Claims {
		changed := claim.DeepCopy()
		changed.OwnerReferences = member.Owners(cluster, namespace)
		if err := e.PatchClaim(ctx, claim, changed); err != nil {
			return err
		}
		cluster.Status.MemberStatuses = append(cluster.Status.MemberStatuses, adopted(claim, former.Members[claim.Name]))
	}
	cluster.Status.ClusterID, cluster.Status.TLS = former.ClusterID, etcd.Encrypted(&cluster.Spec)
	return writeStatus(ctx, e.Client, cluster)
}

// adoptPods makes the cluster the owner of its members' pods that have none, as
// those of a former cluster whose claims it has adopted. They run on.
func (c *Controller) adoptPods(ctx context.Context, o *observe.Objects) error {
	if o.Cluster.Status.ClusterID == "" {
		return nil
	}
	for _, m := range o.Cluster.Status.MemberStatuses {
		p := o.Orphans[m.Name]
		if p == nil {
			continue
		}
		if err := c.writer().PatchPod(ctx, p, func(p *corev1.Pod) { p.OwnerReferences = member.OwnedBy(o.Cluster) }); err != nil {
			return err
		}
		delete(o.Orphans, m.Name)
		o.Pods[m.Name] = p
	}
	return nil
}

func adopted(claim *corev1.PersistentVolumeClaim, of member.Identity) etcdv1beta2.MemberStatus {
	asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return etcdv1beta2.MemberStatus{
		Name: claim.Name, ID: of.ID, Version: of.Version, TargetVersion: of.Version,
		Claim: claim.Name, ClaimUID: string(claim.UID), Storage: &asked, Since: &claim.CreationTimestamp,
		StorageRevision: claim.Annotations[wellknown.AnnotationEtcdStorageRevision],
	}
}
