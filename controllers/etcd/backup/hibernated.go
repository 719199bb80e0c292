package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdmember "github.com/usher-dev/usher/controllers/etcd/member"
)

// ConditionSkipped is the condition of an EtcdBackup whose runs are skipped.
const ConditionSkipped = "Skipped"

// ReasonHibernated is the reason of ConditionSkipped while the EtcdCluster hibernates.
const ReasonHibernated = "ClusterHibernated"

// hibernated returns the EtcdCluster that hibernates, if that is why no member
// answers: every endpoint leads to it. It is nil if usher cannot tell, so that
// the backup fails.
func (c *Controller) hibernated(ctx context.Context, b *etcdv1beta2.EtcdBackup) *etcdv1beta2.EtcdCluster {
	var all etcdv1beta2.EtcdClusterList
	if err := c.reader.List(ctx, &all, client.InNamespace(b.Namespace)); err != nil {
		return nil
	}
	for i := range all.Items {
		cluster := &all.Items[i]
		elsewhere := func(endpoint string) bool { return !etcdmember.LeadsTo(endpoint, cluster) }
		if cluster.Status.Phase == etcdv1beta2.ClusterPhaseHibernated && !slices.ContainsFunc(b.Spec.EtcdEndpoints, elsewhere) {
			return cluster
		}
	}
	return nil
}

// skip records that a run is skipped. It is neither a success nor a failure, so
// the result of the last backup stays; usher makes the backup within retryTo of the
// cluster's waking.
func (c *Controller) skip(b *etcdv1beta2.EtcdBackup, cluster *etcdv1beta2.EtcdCluster, began, ended time.Time) {
	s := &b.Status
	is := metav1.Condition{
		Type: ConditionSkipped, Status: metav1.ConditionTrue, Reason: ReasonHibernated, ObservedGeneration: b.Generation, LastTransitionTime: metav1.Time{Time: ended},
		Message: fmt.Sprintf("the EtcdCluster %s hibernates, and its data does not change: usher makes the next backup once the cluster serves again", cluster.Name),
	}
	if meta.SetStatusCondition(&s.Conditions, is) {
		c.events.Eventf(b, nil, corev1.EventTypeNormal, is.Reason, "Backup", "%s", is.Message)
	}
	at := ended.Add(retryTo)
	if next := regular(b, began); periodic(b) && next.Before(at) {
		at = next
	}
	s.ObservedGeneration, s.NextRun, s.Reason = b.Generation, &metav1.Time{Time: at}, is.Message
}

// skipped reports whether the last run was skipped.
func skipped(b *etcdv1beta2.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, ConditionSkipped)
}
