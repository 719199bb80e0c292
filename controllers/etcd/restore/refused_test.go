package restore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
)

// private is an address at which nobody answers.
const private = "192.168.213.9"

// fromPrivate restores from a private address, and waits for its failure.
func (s *scene) fromPrivate() (restored, allowed metav1.Condition) {
	s.Helper()
	source := s.source("backups/any")
	source.S3.Endpoint = "http://" + private + ":9000"
	s.cluster("example", 1, map[string]string{wellknown.AnnotationEtcdRestore: "back"})
	s.create(&etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back"), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: source, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
	}})
	r := s.untilRestore("back", "the failure", func(r *etcdv1beta2.EtcdRestore) bool {
		is := meta.FindStatusCondition(r.Status.Conditions, etcdrestore.ConditionRestored)
		return is != nil && is.Status == metav1.ConditionFalse && is.Message != ""
	})
	if is := meta.FindStatusCondition(r.Status.Conditions, etcdbackup.ConditionStoreAllowed); is != nil {
		allowed = *is
	}
	return *meta.FindStatusCondition(r.Status.Conditions, etcdrestore.ConditionRestored), allowed
}

func TestAPrivateStoreIsRefused(t *testing.T) {
	s := newScene(t)
	restored, allowed := s.fromPrivate()
	if restored.Reason != string(store.Refused) || !strings.Contains(restored.Message, "--store-endpoints="+private+":9000") || allowed.Reason != string(store.Refused) {
		t.Errorf("the conditions are %+v and %+v", restored, allowed)
	}
}

// TestAStoreOfABackupThatWorkedBeforeCanBeRestoredFrom reads the grace from the
// EtcdBackup, and pins its addresses there.
func TestAStoreOfABackupThatWorkedBeforeCanBeRestoredFrom(t *testing.T) {
	s := newScene(t)
	source := s.source("backups/any")
	source.S3.Endpoint = "http://" + private + ":9000"
	// The endpoint is invalid, so that the backup does not use its store again.
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta("nightly"), Spec: etcdv1beta2.BackupSpec{
		EtcdEndpoints: []string{"unix:///etcd"}, StorageType: etcdv1beta2.BackupStorageS3, BackupSource: source,
	}}
	s.create(b)
	s.until("the backup", func() any { return b.Status }, func() bool {
		s.get(b, b.Name)
		return b.Status.ObservedGeneration == b.Generation
	})
	b.Status.Source = &source
	if err := world.client.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	restored, allowed := s.fromPrivate()
	if restored.Reason == string(store.Refused) || allowed.Reason != etcdbackup.ReasonUnlisted {
		t.Errorf("the conditions are %+v and %+v", restored, allowed)
	}
	s.get(b, b.Name)
	if diff := cmp.Diff([]string{private}, b.Status.StoreGrace); diff != "" {
		t.Errorf("pinned (-want +got):\n%s", diff)
	}
}
