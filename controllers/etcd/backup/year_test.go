package backup_test

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/bucket"
	"github.com/usher-dev/usher/controllers/etcd/backup/store/s3"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// The build tag soak makes these a year in S3, and several years in memory.
var (
	hours = flag.Int("hours", 500, "the number of hourly backups in S3")
	years = flag.Uint64("years", 1, "the number of random years in memory")
)

// A shelf stores backups for TestAYearOfBackups: the real time is the store's.
type shelf interface {
	put(key string, at time.Time)
	list() []store.Object
	// retain deletes the surplus backups after the key was written.
	retain(written string) error
}

// yearPath is the path of the backups, and yearKept how many are kept.
const (
	yearPath = "year/example"
	yearKept = 24
)

func TestAYearOfBackupsKeepsTheNewest(t *testing.T) {
	const year = 365 * 24
	t.Run("decision", func(t *testing.T) {
		for seed := range *years {
			liveThrough(t, seed, year, &memory{objects: map[string]time.Time{}})
		}
	})
	t.Run("S3", func(t *testing.T) {
		shareController(t)
		ns := namespace(t)
		stores := &reach.Stores{Reader: world.client}
		var err error
		if stores.Allowed, err = reach.ParseDestinations([]string{"127.0.0.1:*"}); err != nil {
			t.Fatal(err)
		}
		b := backup(ns, world.s3.Address, "backups/"+ns+"/"+yearPath)
		b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: yearKept}
		bucket, _, err := s3.New(b.Spec.S3, world.s3.Secret(), stores.Route(ns, reach.Grace{}))
		if err != nil {
			t.Fatal(err)
		}
		liveThrough(t, 7, *hours, &inS3{t, bucket, b, ns + "/"})
	})
}

// liveThrough makes a backup each hour by a clock that jumps back and forth, of
// a cluster that is restored, with and without a bump of its revisions, and
// formed again.
func liveThrough(t *testing.T, seed uint64, runs int, s shelf) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	realTime := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var ahead time.Duration // of the controller's clock
	revision := int64(1)
	var order []string // as they were really made
	var refused, deleted, formed, restored, bumped int
	for run := range runs {
		realTime = realTime.Add(time.Hour)
		switch random.IntN(150) {
		case 0:
			ahead = time.Duration(random.Int64N(int64(200 * time.Hour))).Truncate(time.Second)
		case 1:
			ahead = -time.Duration(random.Int64N(int64(200 * time.Hour))).Truncate(time.Second)
		case 2, 3, 4:
			ahead = 0
		case 5:
			revision, formed = 1, formed+1
		case 6:
			revision, restored = max(1, revision-random.Int64N(revision)), restored+1
		case 7:
			revision, bumped = revision+1_000_000_000, bumped+1
		}
		revision += random.Int64N(1000)
		taken := realTime.Add(ahead)
		key := etcdbackup.PeriodicKey(yearPath, revision, taken)
		if slices.Contains(order, key) {
			continue
		}
		before := keysOf(s.list())
		s.put(key, realTime)
		order = append(order, key)
		err := s.retain(key)

		late := slices.ContainsFunc(before, func(other string) bool { return timeIn(t, other).After(timeIn(t, key)) })
		want := slices.Concat(before, []string{key})
		if late {
			refused++
		} else {
			want = slices.Clone(order[max(0, len(order)-yearKept):])
			deleted += max(0, len(before)+1-len(want))
		}
		if is := err != nil && etcdbackup.Reason(err) == etcdbackup.ReasonClock; is != late || !is && err != nil {
			t.Fatalf("seed %d, run %d: a clock is wrong: %t, error is %v", seed, run, late, err)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, keysOf(s.list())); diff != "" {
			t.Fatalf("seed %d, run %d, after %s was made, by a clock that is %s ahead: -want +got:\n%s", seed, run, key, ahead, diff)
		}
		order = slices.DeleteFunc(order, func(k string) bool { return !slices.Contains(want, k) })
	}
	if refused == 0 || deleted == 0 || formed == 0 || restored == 0 || bumped == 0 {
		t.Errorf("seed %d proves nothing: %d runs with a wrong clock, %d deletions, %d new clusters, %d and %d restores", seed, refused, deleted, formed, restored, bumped)
	}
}

func keysOf(objects []store.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Key)
	}
	slices.Sort(all)
	return all
}

// timeIn returns the time in a key.
func timeIn(t *testing.T, key string) time.Time {
	t.Helper()
	taken, err := time.Parse("2006-01-02-15:04:05", key[strings.LastIndex(key, "_")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// memory is a shelf that takes no time.
type memory struct{ objects map[string]time.Time }

func (m *memory) put(key string, at time.Time) { m.objects[key] = at }

func (m *memory) list() []store.Object {
	var all []store.Object
	for key, at := range m.objects {
		all = append(all, store.Object{Key: key, Modified: at})
	}
	return all
}

func (m *memory) retain(written string) error {
	old, err := etcdbackup.Surplus(yearPath, m.list(), written, yearKept)
	for _, key := range old {
		delete(m.objects, key)
	}
	return err
}

// inS3 is a shelf in a real S3 server.
type inS3 struct {
	t      *testing.T
	bucket *bucket.Bucket
	backup *etcdv1beta2.EtcdBackup
	below  string
}

// put saves an object, which the server dates by its file's time.
func (s *inS3) put(key string, at time.Time) {
	s.t.Helper()
	err := s.bucket.Put(s.t.Context(), s.below+key, store.About{Taken: at}, io.LimitReader(strings.NewReader(key), 64))
	if err = errors.Join(err, os.Chtimes(world.s3.File("backups", s.below+key), at, at)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *inS3) list() []store.Object {
	s.t.Helper()
	all, err := s.bucket.List(s.t.Context(), s.below+yearPath+"_v")
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range all {
		all[i].Key = strings.TrimPrefix(all[i].Key, s.below)
	}
	return all
}

func (s *inS3) retain(written string) error {
	return etcdbackup.Retain(s.t.Context(), world.client, s.bucket, s.backup, s.below+yearPath, s.below+written)
}

// TestABackupSurvivesAClockThatIsSetBack makes real backups.
func TestABackupSurvivesAClockThatIsSetBack(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/back/"+ns)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: 1}
	now := time.Now()
	first, err := etcdbackup.Save(t.Context(), world.client, b, now)
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, "back/"+ns)
	if _, err := etcdbackup.Save(t.Context(), world.client, b, now); err == nil || etcdbackup.Reason(err) != etcdbackup.ReasonTaken {
		t.Errorf("in the same second: error is %v", err)
	}
	if diff := cmp.Diff(before, files(t, "back/"+ns)); diff != "" {
		t.Errorf("in the same second: -before +after:\n%s", diff)
	}
	revision := put(t, etcd(t, world.etcd), "back", "value")
	if _, err := etcdbackup.Save(t.Context(), world.client, b, now.Add(-time.Hour)); err == nil || etcdbackup.Reason(err) != etcdbackup.ReasonClock {
		t.Errorf("error is %v", err)
	}
	kept := files(t, "back/"+ns)
	if len(kept) != 2 {
		t.Fatalf("kept are %v", kept)
	}
	delete(kept, strings.TrimPrefix(first, "backups/"))
	for key := range kept {
		if is := examine(t, world.s3.File("backups", key)); is < revision {
			t.Errorf("the newest backup, %s, holds revision %d instead of %d", key, is, revision)
		}
	}
}

// TestAWrongClockIsACondition puts a backup of the future under the path, and
// removes it again.
func TestAWrongClockIsACondition(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	path := "future/" + ns
	b := backup(ns, world.s3.Address, "backups/"+path)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 1}
	future := world.s3.File("backups", etcdbackup.PeriodicKey(path, 1, time.Now().AddDate(1, 0, 0)))
	if err := errors.Join(os.MkdirAll(filepath.Dir(future), 0o755), os.WriteFile(future, []byte("of the future"), 0o644)); err != nil {
		t.Fatal(err)
	}
	create(t, b)
	retained := func(status metav1.ConditionStatus, reason string) func(*etcdv1beta2.EtcdBackup) bool {
		return func(b *etcdv1beta2.EtcdBackup) bool {
			is := meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionRetained)
			return b.Status.Succeeded && is != nil && is.Status == status && is.Reason == reason
		}
	}
	until(t, b, retained(metav1.ConditionFalse, etcdbackup.ReasonClock))
	first := files(t, path)
	last := until(t, b, func(b *etcdv1beta2.EtcdBackup) bool {
		_, known := first[strings.TrimPrefix(b.Status.Path, "backups/")]
		return b.Status.Succeeded && !known
	})
	for key := range first {
		if _, kept := files(t, path)[key]; !kept {
			t.Errorf("%s is deleted while a clock is wrong", key)
		}
	}
	if err := os.Remove(future); err != nil {
		t.Fatal(err)
	}
	is := until(t, last, retained(metav1.ConditionTrue, etcdbackup.ReasonRetained))
	if kept := files(t, path); len(kept) > 2 { // one more may exist before a deletion
		t.Errorf("after %s kept are %v", is.Status.Path, kept)
	}
}
