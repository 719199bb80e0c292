package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// judgeQuorum says whether the majority is lost for good, and how to have the
// cluster again.
func (c *Controller) judgeQuorum(ctx context.Context, j *judgement, p plan.Plan) {
	cluster, st := j.cluster, &j.cluster.Status
	if p.Blocked != plan.QuorumLost {
		j.when(etcdv1beta2.ClusterQuorumLost, false, "", "")
		st.Restore = nil
		return
	}
	const reason = "MembersLost"
	var all etcdv1beta2.EtcdBackupList
	if err := c.reader.List(ctx, &all, client.InNamespace(cluster.Namespace)); err != nil {
		j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+"; its backups could not be listed")
		return
	}
	newest := newestBackup(cluster, all.Items)
	if newest == nil {
		j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+fmt.Sprintf(
			"; no EtcdBackup of the namespace has saved %s in a version that it takes: take a snapshot that was made by other means", cluster.Name))
		if st.Restore != nil && st.Restore.EtcdRestore == "" {
			st.Restore = nil // of one that was made is remembered that it was
		}
		return
	}
	b := &newest.Status
	j.when(etcdv1beta2.ClusterQuorumLost, true, reason, p.Message+fmt.Sprintf(
		"; the newest is that of EtcdBackup %s, of %s, at revision %d, in %s: apply the EtcdRestore in status.restore.manifest",
		newest.Name, b.LastSuccessDate.UTC().Format("2006-01-02 15:04:05"), b.EtcdRevision, b.Path))
	st.Restore = offer(cluster, newest)
}
