package restore_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/test/podidentity"
)

// cloud gives pods of the scene's namespace an identity.
func (s *scene) cloud() {
	s.Helper()
	stop, err := podidentity.Start(s.Context(), world.plane.Config, s.namespace)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := stop(); err != nil {
			s.Error(err)
		}
	})
}

func (s *scene) account(name string) {
	s.Helper()
	s.create(&corev1.ServiceAccount{ObjectMeta: s.meta(name)})
}

func byAccount(account, path string) etcdv1beta2.BackupSource {
	return etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: path, ServiceAccountName: account, Endpoint: "http://" + world.s3.Address, ForcePathStyle: true}}
}

// TestABackupUnderAServiceAccountIsRestored backs a cluster up periodically with
// each way to get an identity, loses all of it, and restores it.
func TestABackupUnderAServiceAccountIsRestored(t *testing.T) {
	s := newScene(t)
	s.cloud()
	s.account("irsa")
	s.account("agent")
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	var is etcdv1beta2.BackupStatus
	for _, account := range []string{"agent", "irsa"} {
		b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(account), Spec: etcdv1beta2.BackupSpec{
			EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageS3, BackupSource: byAccount(account, "backups/"+s.namespace+"/"+account),
			BackupPolicy: &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 2, MaxBackups: 1},
		}}
		s.create(b)
		seen := map[string]bool{}
		s.until("two backups", func() any { return b.Status }, func() bool {
			s.get(b, account)
			if b.Status.Succeeded {
				seen[b.Status.Path] = true
			}
			for _, p := range s.volumePods() {
				if spec := p.Spec; metav1.IsControlledBy(&p, b) && (spec.ServiceAccountName != account || *spec.AutomountServiceAccountToken || spec.HostNetwork) {
					t.Errorf("the pod is %+v", spec)
				}
			}
			return len(seen) == 2
		})
		if err := world.client.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		is = b.Status
		for _, condition := range []string{etcdbackup.ConditionSaved, etcdbackup.ConditionRetained, etcdbackup.ConditionStoreAllowed} {
			if !meta.IsStatusConditionTrue(is.Conditions, condition) {
				t.Errorf("conditions are %+v", is.Conditions)
			}
		}
		if is.Source == nil || is.Source.S3 == nil || is.Source.S3.ServiceAccountName != account || is.Source.S3.AWSSecret != "" {
			t.Errorf("the source is %+v", is.Source)
		}
	}
	s.lose("example")
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back"), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: is.Source.StorageType(), BackupSource: *is.Source, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
	}}
	r.Annotations = map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}
	s.create(r)
	s.untilRestore("back", "the restore", succeeded)
	s.untilServing("example", 1)
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
}

// TestABackupSaysWhatItsServiceAccountLacks names ServiceAccounts that the pod
// cannot use.
func TestABackupSaysWhatItsServiceAccountLacks(t *testing.T) {
	s := newScene(t)
	s.cloud()
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	for account, tc := range map[string]struct {
		reason store.Reason
		says   string
	}{
		"missing":       {store.NoPod, "create the ServiceAccount"},
		"plain":         {store.Unavailable, "Annotate the ServiceAccount with its role"},
		"irsa-refused":  {store.NoIdentity, "the role's trust policy names the ServiceAccount"},
		"agent-refused": {store.NoIdentity, "the ServiceAccount agent-refused no credentials"},
	} {
		if account != "missing" {
			s.account(account)
		}
		b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(account), Spec: etcdv1beta2.BackupSpec{
			EtcdEndpoints: s.endpoints("example"), StorageType: etcdv1beta2.BackupStorageS3, BackupSource: byAccount(account, "backups/"+s.namespace),
		}}
		s.create(b)
		s.until("the condition of "+account, func() any { return b.Status }, func() bool {
			s.get(b, account)
			saved := meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionSaved)
			return saved != nil && saved.Reason == string(tc.reason) && strings.Contains(saved.Message, tc.says)
		})
	}
}
