package restore_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/snapshot"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
	"github.com/usher-dev/usher/controllers/transfer"
)

// TestBackup_OnlyAVerifiedOneIsSentAndOnlyToItsPod replaces what the phase
// Looking has verified: a tenant decides what the store returns.
func TestBackup_OnlyAVerifiedOneIsSentAndOnlyToItsPod(t *testing.T) {
	s := emptyScene(t)
	database := bytes.Repeat([]byte("usher-ok"), 3<<17) // three MiB
	sum := sha256.Sum256(database)
	whole := slices.Concat(database, sum[:])
	path := s.namespace + "/sent"
	// The cluster does not exist, so that no controller goes on.
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back"), Spec: etcdv1beta2.RestoreSpec{
		BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: s.source("backups/" + path), EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "missing"},
	}}
	s.create(r)
	r.Status.Phase = etcdv1beta2.RestorePhaseSeeding
	if err := world.client.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	pod := func(name string, owner ...metav1.OwnerReference) transfer.Caller {
		p := &corev1.Pod{ObjectMeta: s.meta(name), Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "etcd", Image: "none", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		}}
		p.OwnerReferences = owner
		s.create(p)
		return transfer.Caller{Name: p.Name, UID: p.UID}
	}
	seed := pod(etcdrestore.SeedName(r), *metav1.NewControllerRef(r, etcdv1beta2.GroupVersion.WithKind("EtcdRestore")))
	other := pod("other")
	source := etcdrestore.NewSource(world.client)
	store := func(content []byte) {
		t.Helper()
		file := world.s3.File("backups", path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	for name, content := range map[string][]byte{"a hash that differs": damaged, "no snapshot": []byte("root:x:0:0"), "half of it": whole[:len(whole)/2]} {
		store(content)
		if body, _, err := source.Backup(t.Context(), s.namespace, r.Name, seed); !errors.Is(err, snapshot.ErrDamaged) || body != nil {
			t.Errorf("%s is sent: %v", name, err)
		}
	}
	store(whole)
	for name, caller := range map[string]transfer.Caller{"another pod": other, "a pod that had its name": {Name: seed.Name, UID: other.UID}} {
		if body, _, err := source.Backup(t.Context(), s.namespace, r.Name, caller); err == nil || body != nil {
			t.Errorf("%s gets the backup", name)
		}
	}
	body, size, err := source.Backup(t.Context(), s.namespace, r.Name, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := source.Backup(t.Context(), s.namespace, r.Name, seed); err == nil {
		t.Error("a pod gets the backup twice at once")
	}
	got, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(got, whole) || size != int64(len(whole)) {
		t.Errorf("%d of %d bytes are sent: %v", len(got), len(whole), err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	again, _, err := source.Backup(t.Context(), s.namespace, r.Name, seed)
	if err != nil {
		t.Fatalf("the turn of the sent backup was not returned: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
