package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd/plan"
)

// judgeQuorum decides whether the quorum is permanently lost, and how to
// recover the cluster.
func (c *Controller) judgeQuorum(ctx context.Context, j *judgement, s *observe.Observed, p plan.Plan) {
	cluster, st := j.cluster, &j.cluster.Status
	if was := st.Condition(etcdv1beta2.ClusterQuorumLost); p.Blocked != plan.QuorumLost && was != nil && was.Status == corev1.ConditionTrue && s.Formed && !s.MayHaveQuorum() {
		return // members that start again and end are the same loss
	}
	if p.Blocked != plan.QuorumLost {
		j.when(etcdv1beta2.ClusterQuorumLost, false, "", "")
		st.Restore = nil
		return
	}
	const reason = "MembersLost"
	var all etcdv1beta2.EtcdBackupList
	if err := c.observer.Reader.List(ctx, &all, client.InNamespace(cluster.Namespace)); err != nil {
		j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+"; its backups could not be listed")
		return
	}
	newest := newestBackup(cluster, all.Items)
	if newest == nil {
		j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+fmt.Sprintf(
			"; no EtcdBackup in the namespace has a backup of %s in a compatible version: restore a snapshot from another source", cluster.Name))
		if st.Restore != nil && st.Restore.EtcdRestore == "" {
			st.Restore = nil // the status remembers that an EtcdRestore was created
		}
		return
	}
	b := &newest.Status
	j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+fmt.Sprintf(
		"; the newest backup is that of EtcdBackup %s, from %s, at revision %d, in %s: apply the EtcdRestore in status.restore.manifest",
		newest.Name, b.LastSuccessDate.UTC().Format("2006-01-02 15:04:05"), b.EtcdRevision, b.Path))
	st.Restore = offer(cluster, newest)
}
