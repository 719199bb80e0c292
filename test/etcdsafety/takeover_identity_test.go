//go:build soak

package etcdsafety_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/objectstore"
	"github.com/usher-dev/usher/test/podidentity"
	"github.com/usher-dev/usher/test/previous"
)

// saved returns the backups in a store.
func (s *scene) saved(store *objectstore.Server) map[string]bool {
	s.Helper()
	all := map[string]bool{}
	s.must(filepath.WalkDir(filepath.Join(store.Root, "backups"), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all[path] = true
		}
		return err
	}))
	return all
}

// savesMore waits until a store has a backup that is not among those.
func (s *scene) savesMore(store *objectstore.Server, than map[string]bool) {
	s.Helper()
	s.eventually("a backup is saved", func(context.Context) (bool, error) {
		for path := range s.saved(store) {
			if !than[path] {
				return true, nil
			}
		}
		return false, nil
	})
}

// byAccount writes the ServiceAccount in place of the Secret.
func byAccount(source *etcdv1beta2.BackupSource) {
	source.S3.AWSSecret, source.S3.ServiceAccountName = "", "irsa"
}

// ofMembers returns the members' pods and claims.
func (s *scene) ofMembers() belonging {
	s.Helper()
	all := s.claims()
	for _, p := range s.pods() {
		if p.Labels["etcd_cluster"] == name {
			all["pod "+p.Name] = p.UID
		}
	}
	return all
}

// TestARollbackOfBackupsUnderAServiceAccount_DeletesNothing gives backups and restores
// whose pods have an identity to the previous release, which wants a Secret, and back.
func TestARollbackOfBackupsUnderAServiceAccount_DeletesNothing(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	give := w.giver(t, stop)
	give(program)
	s := emptyScene(t, w)
	cloud, err := podidentity.Start(t.Context(), w.Config, s.namespace)
	s.must(err)
	t.Cleanup(func() { s.must(cloud()) })
	s.must(s.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: s.meta("irsa")}))
	store := s.store()
	s.must(w.client.Create(t.Context(), s.clusterOf(1)))
	s.settled(1)
	periodic := s.backupOf(store, "periodic")
	byAccount(&periodic.Spec.BackupSource)
	periodic.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 3}
	s.must(s.client.Create(t.Context(), periodic))
	s.savesMore(store, nil)
	once := s.backUp(store)
	started := s.forcedRestoreOf(store, "started", once.Status.Path)
	byAccount(&started.Spec.BackupSource)
	s.must(s.client.Create(t.Context(), started))
	s.untilRestored("started", etcdv1beta2.RestorePhaseLooking)

	give(before)
	was, there := s.ofMembers(), s.saved(store)
	waiting := s.forcedRestoreOf(store, "waiting", once.Status.Path)
	byAccount(&waiting.Spec.BackupSource)
	s.must(s.client.Create(t.Context(), waiting))
	s.throughout(func() string {
		now, saved := s.ofMembers(), s.saved(store)
		for name, uid := range was {
			if now[name] != uid {
				return "the previous release replaced " + name
			}
		}
		for path := range there {
			if !saved[path] {
				return "the previous release deleted " + path
			}
		}
		return ""
	})
	for _, o := range []client.Object{periodic, started, waiting} {
		s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	}
	t.Logf("under the previous release: %d backups, and %d before; the backup's status is %+v; those of the restores are %+v and %+v",
		len(s.saved(store)), len(there), periodic.Status, started.Status, waiting.Status)

	give(program)
	s.untilRestored("started", etcdv1beta2.RestorePhaseSucceeded)
	s.untilRestored("waiting", etcdv1beta2.RestorePhaseSucceeded)
	s.settled(1)
	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(periodic), periodic))
	patch := client.MergeFrom(periodic.DeepCopy())
	periodic.Spec.EtcdEndpoints = s.backupOf(store, "").Spec.EtcdEndpoints // of another member
	s.must(s.client.Patch(t.Context(), periodic, patch))
	s.savesMore(store, s.saved(store))
}
