package backup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
)

// TestABackupOfAHibernatedCluster_IsSkipped uses an EtcdCluster that only says
// that it hibernates: nobody answers at its endpoints.
func TestABackupOfAHibernatedCluster_IsSkipped(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	cluster := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "main"}, Spec: etcdv1beta2.ClusterSpec{Size: 1}}
	create(t, cluster)
	cluster.Status.Phase = etcdv1beta2.ClusterPhaseHibernated
	if err := world.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	b := backup(ns, world.s3.Address, "backups/asleep/"+ns)
	b.Spec.EtcdEndpoints = []string{"http://main-client." + ns + ".svc:2379"}
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, TimeoutInSecond: 20}
	create(t, b)
	skipped := func(b *etcdv1beta2.EtcdBackup) bool {
		return meta.IsStatusConditionTrue(b.Status.Conditions, etcdbackup.ConditionSkipped)
	}
	is := until(t, b, skipped)
	if saved := meta.FindStatusCondition(is.Status.Conditions, etcdbackup.ConditionSaved); saved != nil {
		t.Errorf("a run that is skipped has the result %+v", saved)
	}
	if is.Status.NextRun == nil || is.Status.NextRun.Sub(is.CreationTimestamp.Time).Minutes() > 12 {
		t.Errorf("the next run is %v", is.Status.NextRun)
	}
	names, err := etcdbackup.Metrics(world.client, ns)
	if diff := cmp.Diff([]string{"usher_etcdbackup_created_timestamp_seconds"}, names); err != nil || diff != "" {
		t.Errorf("metrics by which the backup failed or is late (-want +got): %v\n%s", err, diff)
	}
	// An endpoint of another cluster, which does not answer either, is a failure.
	was := is.DeepCopy()
	is.Spec.EtcdEndpoints = append(is.Spec.EtcdEndpoints, "http://other-client."+ns+".svc:2379")
	is.Spec.BackupPolicy.MaxBackups = 1
	if err := world.client.Patch(t.Context(), is, client.MergeFrom(was)); err != nil {
		t.Fatal(err)
	}
	is = until(t, b, func(b *etcdv1beta2.EtcdBackup) bool {
		return b.Status.ObservedGeneration == b.Generation && meta.IsStatusConditionFalse(b.Status.Conditions, etcdbackup.ConditionSaved)
	})
	if skipped(is) || ptr.Deref(meta.FindStatusCondition(is.Status.Conditions, etcdbackup.ConditionSaved), metav1.Condition{}).Reason != etcdbackup.ReasonUnreachable {
		t.Errorf("the conditions are %+v", is.Status.Conditions)
	}
}
