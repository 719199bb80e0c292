package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/etcdserver"
	"github.com/usher-dev/usher/test/objectstore"
)

// etcd connects to the cluster.
func etcd(t *testing.T, c *etcdserver.Cluster) *clientv3.Client {
	t.Helper()
	connected, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connected.Close() })
	return connected
}

func put(t *testing.T, c *clientv3.Client, key, value string) int64 {
	t.Helper()
	r, err := c.Put(t.Context(), key, value)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header.Revision
}

// fill writes that many bytes, which another cluster would not compress or
// share.
func fill(t *testing.T, c *clientv3.Client, bytes int) {
	t.Helper()
	const part = 1 << 19
	value := make([]byte, part)
	for i := 0; i*part < bytes; i++ {
		for j := range value {
			value[j] = byte(i*31 + j*j>>3)
		}
		put(t, c, fmt.Sprintf("filled/%d", i), string(value))
	}
}

// fillLarge fills the large cluster with data, once.
func fillLarge(t *testing.T) {
	t.Helper()
	large.Do(func() { fill(t, etcd(t, world.large), 12<<20) })
}

var large sync.Once

// examine runs etcdutl on a file, which checks its hash.
func examine(t *testing.T, file string) (revision int64) {
	t.Helper()
	programs, err := components.Ensure(t.Context(), t.Output(), "etcdutl-3.6")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "etcdutl-3.6"), "snapshot", "status", file, "-w", "json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var status struct{ Revision int64 }
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatal(err)
	}
	return status.Revision
}

// files returns those below a folder of the bucket, with their hashes.
func files(t *testing.T, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := world.s3.File("backups", "")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case entry != nil && entry.Name() == ".sgwtmp":
			return fs.SkipDir // uploads of other tests, which appear and disappear
		case err != nil || !entry.Type().IsRegular():
			return err
		}
		key, err := filepath.Rel(root, path)
		if err != nil || !strings.HasPrefix(key, prefix) {
			return err
		}
		text, err := os.ReadFile(path)
		sum := sha256.Sum256(text)
		all[key] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestASingleBackupIsSavedAndFoundWhole(t *testing.T) {
	shareController(t)
	revision := put(t, etcd(t, world.etcd), "single", "value")
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/single/"+ns)
	create(t, b)
	s := until(t, b, succeeded).Status
	file := world.s3.File("backups", "single/"+ns)
	if is := examine(t, file); is < revision || s.EtcdRevision < revision || is < s.EtcdRevision {
		t.Errorf("the file holds revision %d, the status says %d, at least %d was written", is, s.EtcdRevision, revision)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	want := etcdv1beta2.BackupStatus{
		Succeeded: true, ObservedGeneration: 1, Path: "backups/single/" + ns, EtcdRevision: s.EtcdRevision,
		ClusterID: s.ClusterID, Source: &b.Spec.BackupSource, SizeBytes: info.Size(), SHA256: files(t, "single/"+ns)["single/"+ns], EtcdVersion: "3.6.16",
		LastSuccessDate: s.LastSuccessDate, Duration: s.Duration, Conditions: s.Conditions,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("status: -want +got:\n%s", diff)
	}
	if s.ClusterID == "" || s.LastSuccessDate.IsZero() || s.Duration.Duration <= 0 || !meta.IsStatusConditionTrue(s.Conditions, etcdbackup.ConditionSaved) {
		t.Errorf("status is %+v", s)
	}
}

func TestPeriodicBackupsGoOnAndTheNewestAreKept(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/periodic/"+ns)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 2}
	b.Finalizers = []string{"backup-operator-periodic"} // of an operator of before
	create(t, b)
	written := etcd(t, world.etcd)
	seen := map[string]bool{}
	last := until(t, b, func(b *etcdv1beta2.EtcdBackup) bool {
		if b.Status.Succeeded && !seen[b.Status.Path] {
			seen[b.Status.Path] = true
			put(t, written, "periodic", b.Status.Path)
		}
		return len(seen) == 5
	})
	if last.Status.NextRun == nil || !meta.IsStatusConditionTrue(last.Status.Conditions, etcdbackup.ConditionRetained) {
		t.Errorf("status is %+v", last.Status)
	}
	if err := world.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(world.client.Get(ctx, client.ObjectKeyFromObject(b), b)), nil
	})
	if err != nil {
		t.Errorf("it is not deleted: %v", err)
	}
	kept := files(t, "periodic/"+ns)
	if len(kept) < 1 || len(kept) > 3 { // one more may exist before a deletion
		t.Errorf("kept are %v", kept)
	}
	if _, ok := kept[strings.TrimPrefix(last.Status.Path, "backups/")]; !ok && len(kept) == 0 {
		t.Errorf("the newest, %s, is not kept: %v", last.Status.Path, kept)
	}
}

func TestAScheduleIsKept(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	often := backup(ns, world.s3.Address, "backups/often/"+ns)
	often.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{Schedule: "@every 1s", MaxBackups: 2}
	create(t, often)
	yearly := backup(ns, world.s3.Address, "backups/yearly/"+ns)
	yearly.Name = "yearly"
	next := time.Now().AddDate(0, 6, 0).UTC()
	yearly.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{Schedule: fmt.Sprintf("30 3 1 %d *", next.Month()), TimeZone: ptr.To("Asia/Kolkata"), MaxBackups: 2}
	create(t, yearly)
	seen := map[string]bool{}
	until(t, often, func(b *etcdv1beta2.EtcdBackup) bool {
		if b.Status.Succeeded {
			seen[b.Status.Path] = true
		}
		return len(seen) == 4
	})
	is := until(t, yearly, func(b *etcdv1beta2.EtcdBackup) bool { return b.Status.NextRun != nil })
	want := time.Date(next.Year(), next.Month(), 1, 3, 30, 0, 0, time.FixedZone("IST", int((5*time.Hour+30*time.Minute).Seconds())))
	if !is.Status.NextRun.Time.Equal(want) || is.Status.ObservedGeneration != is.Generation || len(is.Status.Conditions) > 0 {
		t.Errorf("the next is at %s, want %s: %+v", is.Status.NextRun, want, is.Status)
	}
	if made := files(t, "yearly/"+ns); len(made) > 0 {
		t.Errorf("a schedule began with %v", made)
	}
}

func TestABackupNeverTakesThePlaceOfAnother(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	path := "single/taken-" + ns
	if err := os.MkdirAll(filepath.Dir(world.s3.File("backups", path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(world.s3.File("backups", path), []byte("another's"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, path)
	b := backup(ns, world.s3.Address, "backups/"+path)
	create(t, b)
	is := until(t, b, failing)
	if reason := saved(is).Reason; reason != etcdbackup.ReasonTaken {
		t.Errorf("reason is %s: %s", reason, is.Status.Reason)
	}
	if diff := cmp.Diff(before, files(t, path)); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func saved(b *etcdv1beta2.EtcdBackup) metav1.Condition {
	if c := meta.FindStatusCondition(b.Status.Conditions, etcdbackup.ConditionSaved); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestEveryFailureIsReportedAndHarmsNothing causes one failure in each
// namespace, and then removes it.
func TestEveryFailureIsReportedAndHarmsNothing(t *testing.T) {
	shareController(t)
	fillLarge(t)
	ofLarge := func(namespace, address string) *etcdv1beta2.EtcdBackup {
		b := backup(namespace, address, "backups/faults/"+namespace)
		b.Spec.EtcdEndpoints = world.large.Endpoints()
		return b
	}
	rotated := map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = " + objectstore.AccessKey + "\naws_secret_access_key = former\n")}
	for name, tc := range map[string]struct {
		fault  objectstore.Fault
		change func(*etcdv1beta2.EtcdBackup)
		secret map[string][]byte
		want   string
	}{
		"S3 refuses":                   {fault: objectstore.Fault{Refuse: true}, want: string(store.Unavailable)},
		"S3 stalls":                    {fault: objectstore.Fault{StallUp: 3 << 20}, want: etcdbackup.ReasonTimeout, change: timeout(8)},
		"the upload is cut":            {fault: objectstore.Fault{CutUp: 3 << 20}, want: string(store.Unavailable)},
		"the answers are cut":          {fault: objectstore.Fault{CutDown: 200}, want: string(store.Unavailable)},
		"verifying the backup is cut":  {fault: objectstore.Fault{CutDown: 6 << 20}, want: string(store.Unavailable)},
		"verifying the backup stalls":  {fault: objectstore.Fault{StallDown: 6 << 20}, want: etcdbackup.ReasonTimeout, change: timeout(8)},
		"a byte flips on the way back": {fault: objectstore.Fault{FlipDown: 6 << 20}, want: etcdbackup.ReasonDamaged},
		"the Secret was rotated":       {secret: rotated, want: string(store.Denied)},
		"the Secret is empty":          {secret: map[string][]byte{}, want: string(store.BadSecret)},
		"the bucket is not there":      {want: string(store.NoBucket), change: path("missing/key")},
		"the Secret is not there":      {want: etcdbackup.ReasonMissingSecret, change: func(b *etcdv1beta2.EtcdBackup) { b.Spec.S3.AWSSecret = "other" }},
		"no member answers":            {want: etcdbackup.ReasonUnreachable, change: endpoints("http://127.0.0.1:1"), fault: objectstore.Fault{}},
		"no member is named":           {want: etcdbackup.ReasonInvalid, change: endpoints()},
		"the storage is not run":       {want: etcdbackup.ReasonUnsupported, change: func(b *etcdv1beta2.EtcdBackup) { b.Spec.StorageType = "GCS" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, err := objectstore.StartProxy(world.s3.Address)
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Stop()
			ns := namespace(t)
			old := ofLarge(ns, world.s3.Address)
			old.Name = "older"
			old.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: 1}
			create(t, old)
			until(t, old, succeeded)
			before := files(t, "faults/"+ns)

			put(t, etcd(t, world.large), "after", "the older one") // another revision is another key
			proxy.Set(tc.fault)
			if tc.secret != nil {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "aws"}, Data: tc.secret}
				if err := world.client.Update(t.Context(), secret); err != nil {
					t.Fatal(err)
				}
			}
			b := ofLarge(ns, proxy.Address)
			b.Spec.BackupPolicy = old.Spec.BackupPolicy.DeepCopy()
			if tc.change != nil {
				tc.change(b)
			}
			create(t, b)
			is := until(t, b, failing)
			if got := saved(is); got.Reason != tc.want || got.Message == "" || is.Status.Reason != got.Message || got.Status != metav1.ConditionFalse {
				t.Errorf("reason is %s, want %s: %s", got.Reason, tc.want, is.Status.Reason)
			}
			if strings.Contains(is.Status.Reason, objectstore.SecretKey) {
				t.Errorf("the status tells the secret: %s", is.Status.Reason)
			}
			if diff := cmp.Diff(before, files(t, "faults/"+ns)); diff != "" && !strings.Contains(name, "verifying the backup") {
				t.Errorf("-before +after:\n%s", diff)
			}
			for key, sum := range before {
				if files(t, key)[key] != sum {
					t.Errorf("%s was touched", key)
				}
			}

			proxy.Set(objectstore.Fault{})
			is.Spec = ofLarge(ns, proxy.Address).Spec
			is.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, TimeoutInSecond: 120}
			if err := world.client.Update(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "aws"}, Data: world.s3.Secret()}); err != nil {
				t.Fatal(err)
			}
			if err := world.client.Update(t.Context(), is); err != nil {
				t.Fatal(err)
			}
			done := until(t, b, succeeded)
			if done.Status.Reason != "" || !meta.IsStatusConditionTrue(done.Status.Conditions, etcdbackup.ConditionSaved) {
				t.Errorf("status is %+v", done.Status)
			}
			examine(t, world.s3.File("", done.Status.Path))
		})
	}
}

func timeout(seconds int64) func(*etcdv1beta2.EtcdBackup) {
	return func(b *etcdv1beta2.EtcdBackup) { b.Spec.BackupPolicy.TimeoutInSecond = seconds }
}

func path(to string) func(*etcdv1beta2.EtcdBackup) {
	return func(b *etcdv1beta2.EtcdBackup) { b.Spec.S3.Path = to }
}

func endpoints(all ...string) func(*etcdv1beta2.EtcdBackup) {
	return func(b *etcdv1beta2.EtcdBackup) { b.Spec.EtcdEndpoints = all }
}

func TestAFailedBackupIsTriedAgainByItself(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	proxy, err := objectstore.StartProxy(world.s3.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	proxy.Set(objectstore.Fault{Refuse: true})
	b := backup(ns, proxy.Address, "backups/retried/"+ns)
	create(t, b)
	if is := until(t, b, failing); is.Status.NextRun == nil {
		t.Errorf("no other attempt is planned: %+v", is.Status)
	}
	proxy.Set(objectstore.Fault{})
	until(t, b, succeeded)
}

// stalls are the points at which the controller is killed; stories_test.go adds
// others.
var stalls = map[string]objectstore.Fault{
	"in a part":              {StallUp: 2 << 20},
	"when it reads it again": {StallDown: 2 << 20},
}

// TestAKilledControllerLeavesNothingHalfDone kills it at every step, including
// the upload and the verification, and starts another.
func TestAKilledControllerLeavesNothingHalfDone(t *testing.T) {
	fillLarge(t)
	proxy, err := objectstore.StartProxy(world.s3.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	for name, fault := range stalls {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t)
			key := "killed/" + ns
			proxy.Set(fault)
			process := startProcess(t)
			b := backup(ns, proxy.Address, "backups/"+key)
			b.Spec.EtcdEndpoints, b.Spec.BackupPolicy = world.large.Endpoints(), &etcdv1beta2.BackupPolicy{TimeoutInSecond: 120}
			create(t, b)
			if err := proxy.UntilStalled(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait()
			if err := world.client.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil || b.Status.Succeeded {
				t.Errorf("it succeeded before it was whole: %v, %+v", err, b.Status)
			}
			proxy.Set(objectstore.Fault{})
			startProcess(t)
			done := until(t, b, succeeded)
			if got := files(t, key); len(got) != 1 || got[key] != done.Status.SHA256 {
				t.Errorf("there is %v, want one of SHA-256 %s", got, done.Status.SHA256)
			}
			examine(t, world.s3.File("backups", key))
		})
	}
}

// TestABackupThatIsToBeRestoredIsKept makes more backups than are kept while an
// EtcdRestore names the first.
func TestABackupThatIsToBeRestoredIsKept(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	b := backup(ns, world.s3.Address, "backups/wanted/"+ns)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600, MaxBackups: 1}
	create(t, b)
	first := until(t, b, succeeded).Status.Path
	r := &etcdv1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "restore"},
		Spec: etcdv1beta2.RestoreSpec{
			BackupStorageType: etcdv1beta2.BackupStorageS3, EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "missing"},
			BackupSource: etcdv1beta2.BackupSource{S3: &etcdv1beta2.S3Source{
				Path: first, AWSSecret: "aws", Endpoint: "http://" + world.s3.Address, ForcePathStyle: true,
			}},
		},
	}
	create(t, r)
	b = until(t, b, succeeded)
	b.Spec.BackupPolicy.BackupIntervalInSecond = 1
	if err := world.client.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	another := func() string {
		before := map[string]bool{}
		return until(t, b, func(b *etcdv1beta2.EtcdBackup) bool {
			before[b.Status.Path] = true
			return len(before) == 4
		}).Status.Path
	}
	another()
	file := strings.TrimPrefix(first, "backups/")
	if _, ok := files(t, "wanted/"+ns)[file]; !ok {
		t.Fatalf("%s is gone, and an EtcdRestore names it", first)
	}
	if err := world.client.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	last := strings.TrimPrefix(another(), "backups/")
	kept := files(t, "wanted/"+ns)
	if _, ok := kept[file]; ok {
		t.Errorf("%s is kept, and nothing names it any more: %v", first, kept)
	}
	if _, ok := kept[last]; !ok && len(kept) == 0 {
		t.Errorf("the newest is gone: %v", kept)
	}
}
