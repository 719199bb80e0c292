package etcdsafety_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/objectstore"
)

// phases are the phases of a restore, in order.
var phases = []string{
	"", etcdv1beta2.RestorePhaseLooking, etcdv1beta2.RestorePhaseSeeding, etcdv1beta2.RestorePhaseProving,
	etcdv1beta2.RestorePhaseSwitching, etcdv1beta2.RestorePhaseGrowing, etcdv1beta2.RestorePhaseSucceeded,
}

func (s *scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func source(store *objectstore.Server, path string) etcdv1beta2.BackupSource {
	return etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{Path: path, AWSSecret: "aws", Endpoint: "http://" + store.Address, ForcePathStyle: true}}
}

// backupOf returns a backup of the cluster.
func (s *scene) backupOf(store *objectstore.Server, name string) *etcdv1beta2.EtcdBackup {
	s.Helper()
	b := &etcdv1beta2.EtcdBackup{ObjectMeta: s.meta(name), Spec: etcdv1beta2.BackupSpec{
		StorageType: etcdv1beta2.BackupStorageS3, BackupSource: source(store, "backups/"+name),
	}}
	for _, p := range s.pods() {
		b.Spec.EtcdEndpoints = append(b.Spec.EtcdEndpoints, "http://"+p.Status.PodIP+":2379")
	}
	return b
}

// backUp backs the cluster up, at the path backups/once.
func (s *scene) backUp(store *objectstore.Server) *etcdv1beta2.EtcdBackup {
	s.Helper()
	return s.save(s.backupOf(store, "once"))
}

// save creates a backup, and waits until it is saved.
func (s *scene) save(b *etcdv1beta2.EtcdBackup) *etcdv1beta2.EtcdBackup {
	s.Helper()
	s.must(s.client.Create(s.Context(), b))
	s.eventually("it is saved", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(b), b)
		return b.Status.Succeeded, err
	})
	return b
}

func (s *scene) restoreOf(store *objectstore.Server, name, path string) *etcdv1beta2.EtcdRestore {
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta(name), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: source(store, path), EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "example"},
	}}
	return r
}

// forcedRestoreOf returns one that may replace a cluster that works.
func (s *scene) forcedRestoreOf(store *objectstore.Server, name, path string) *etcdv1beta2.EtcdRestore {
	r := s.restoreOf(store, name, path)
	r.Annotations = map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}
	return r
}

// untilRestored waits until a restore has reached a phase, and returns the
// current one.
func (s *scene) untilRestored(name, phase string) string {
	s.Helper()
	r := &etcdv1beta2.EtcdRestore{}
	err := wait.PollUntilContextTimeout(s.Context(), 2*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, r)
		return slices.Index(phases, r.Status.Phase) >= slices.Index(phases, phase), err
	})
	if err != nil {
		s.Fatalf("waiting until the restore is in %s: %v: %+v", phase, err, r.Status)
	}
	return r.Status.Phase
}

// eventually waits for effects outside of the cluster's status.
func (s *scene) eventually(what string, holds func(context.Context) (bool, error)) {
	s.Helper()
	if err := wait.PollUntilContextTimeout(s.Context(), 200*time.Millisecond, 2*time.Minute, true, holds); err != nil {
		s.Fatal(fmt.Errorf("waiting until %s: %w", what, err))
	}
}

// store starts an object store with a Secret for it.
func (s *scene) store() *objectstore.Server {
	s.Helper()
	store, err := objectstore.Start(s.TempDir(), "backups")
	s.must(err)
	s.Cleanup(store.Stop)
	s.must(s.client.Create(s.Context(), &corev1.Secret{ObjectMeta: s.meta("aws"), Data: store.Secret()}))
	return store
}
