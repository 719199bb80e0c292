//go:build soak

package etcdsafety_test

import (
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/previous"
)

// TestARollbackOfScheduledBackups_DeletesNothing gives backups with a schedule to the
// previous release, which knows only intervals, and back.
func TestARollbackOfScheduledBackups_DeletesNothing(t *testing.T) {
	w, before, stop := underRelease(t, previous.Commit)
	give := w.giver(t, stop)
	give(program)
	s := emptyScene(t, w)
	store := s.store()
	s.must(w.client.Create(t.Context(), s.clusterOf(1)))
	s.settled(1)
	scheduled := s.backupOf(store, "scheduled")
	scheduled.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{Schedule: "* * * * *", TimeZone: ptr.To("Asia/Shanghai"), MaxBackups: 5}
	s.must(s.client.Create(t.Context(), scheduled))
	s.savesMore(store, nil)

	give(before)
	there := s.saved(store)
	s.throughout(func() string {
		saved := s.saved(store)
		for path := range there {
			if !saved[path] {
				return "the previous release deleted " + path
			}
		}
		return ""
	})
	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(scheduled), scheduled))
	t.Logf("under the previous release: %d backups, and %d before; the status is %+v", len(s.saved(store)), len(there), scheduled.Status)

	give(program)
	s.savesMore(store, s.saved(store))
	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(scheduled), scheduled))
	if scheduled.Status.NextRun == nil {
		t.Error("the status does not say when the next backup is due")
	}
}
