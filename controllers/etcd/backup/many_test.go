//go:build soak

package backup_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/test/etcdserver"
)

// TestTwoHundredPeriodicBackupsLeaveTheNewestFive makes them an hour apart,
// with revisions that grow in length, and that drop once, as after a restore.
func TestTwoHundredPeriodicBackupsLeaveTheNewestFive(t *testing.T) {
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/many/"+ns)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: 5}
	create(t, b)
	first, err := etcdserver.Start(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Stop()
	second, err := etcdserver.Start(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	saved := first
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var made []string
	for i := range 200 {
		if i == 150 {
			saved = second // which has a lower revision
		}
		put(t, etcd(t, saved), "many", now.String())
		b.Spec.EtcdEndpoints = saved.Endpoints()
		path, err := etcdbackup.Save(t.Context(), world.client, b, now)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, strings.TrimPrefix(path, "backups/"))
		now = now.Add(time.Hour)
	}
	want := made[len(made)-5:]
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files(t, "many/"+ns)))); diff != "" {
		t.Errorf("-want +kept:\n%s", diff)
	}
}
