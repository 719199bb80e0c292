package restore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/member"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
)

// hash returns the hash of the store's content at a revision.
func (s *scene) hash(etcd *clientv3.Client, revision int64) uint32 {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	h, err := etcd.HashKV(ctx, etcd.Endpoints()[0], revision)
	if err != nil {
		s.Fatal(err)
	}
	return h.Hash
}

// lose deletes the data of every member.
func (s *scene) lose(cluster string) {
	s.Helper()
	for name := range s.pods(cluster) {
		if err := world.kubelet.Wipe(s.namespace, name); err != nil {
			s.Fatal(err)
		}
	}
}

// pods returns the cluster's pods, with what distinguishes pods of the same
// name.
func (s *scene) pods(cluster string) map[string]string {
	s.Helper()
	var pods corev1.PodList
	if err := world.client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels(member.LabelsOf(cluster))); err != nil {
		s.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range pods.Items {
		all[p.Name] = string(p.UID)
	}
	return all
}

// kept returns the claims that were set aside.
func (s *scene) kept(restore string) []string {
	s.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := world.client.List(s.Context(), &claims, client.InNamespace(s.namespace), client.MatchingLabels{wellknown.LabelEtcdKept: restore}); err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, c := range claims.Items {
		names = append(names, c.Name)
	}
	return names
}

func TestABackupIsRestoredIntoANewName(t *testing.T) {
	s := newScene(t)
	s.cluster("old", 1, nil)
	s.untilServing("old", 1)
	if _, err := s.etcd("old").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("once", "old", "backups/"+s.namespace+"/once", nil)
	before := s.pods("old")
	s.cluster("new", 1, map[string]string{wellknown.AnnotationEtcdRestore: "copy"})
	s.restore("copy", "new", b.Status.Path, nil)
	r := s.untilRestore("copy", "the restore", succeeded)
	s.untilServing("new", 1)
	got, err := s.etcd("new").Get(t.Context(), "key")
	if err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
	if diff := cmp.Diff(before, s.pods("old")); diff != "" {
		t.Errorf("the old cluster was touched: %s", diff)
	}
	if !strings.HasPrefix(r.Status.WayBack, "none") {
		t.Errorf("the way back is %s", r.Status.WayBack)
	}
}

// TestARestoreBumpsTheRevision compares a restore with a bump and one without:
// only the former ends the watch of a client that saw later revisions.
func TestARestoreBumpsTheRevision(t *testing.T) {
	const bump = 1_000_000_000
	s := newScene(t)
	s.cluster("old", 1, nil)
	s.untilServing("old", 1)
	if _, err := s.etcd("old").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("once", "old", "backups/"+s.namespace+"/once", nil)
	for name, by := range map[string]int64{"plain": 0, "bumped": bump} {
		s.cluster(name, 1, map[string]string{wellknown.AnnotationEtcdRestore: name})
		s.create(&etcdv1beta2.EtcdRestore{ObjectMeta: s.meta(name), Spec: etcdv1beta2.RestoreSpec{
			BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: s.source(b.Status.Path), EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: name}, BumpRevision: by,
		}})
	}
	for name, by := range map[string]int64{"plain": 0, "bumped": bump} {
		s.untilRestore(name, "the restore "+name, succeeded)
		s.untilServing(name, 1)
		etcd := s.etcd(name)
		got, err := etcd.Get(t.Context(), "key")
		if err != nil || got.Count != 1 {
			t.Fatalf("%s: the key is not there: %v, %v", name, got, err)
		}
		if is := got.Header.Revision; is < b.Status.EtcdRevision+by || by == 0 && is > bump {
			t.Errorf("%s: the revision is %d after a backup at %d", name, is, b.Status.EtcdRevision)
		}
		_, err = etcd.Get(t.Context(), "key", clientv3.WithRev(b.Status.EtcdRevision))
		if compacted := errors.Is(err, rpctypes.ErrCompacted); compacted != (by > 0) {
			t.Errorf("%s: reading the revision of the backup: %v", name, err)
		}
	}
}

func TestBumps_OnlyFromTheVersionWhoseEtcdutlTakesIt(t *testing.T) {
	for version, want := range map[string]bool{"3.5.9": false, "3.5.10": true, "3.6.0": true, "v3.7.3": true, "": false} {
		if err := etcdrestore.Bumps(1, version); (err == nil) != want {
			t.Errorf("etcd %s bumps: %v", version, err)
		}
		if err := etcdrestore.Bumps(0, version); err != nil {
			t.Errorf("etcd %s without a bump: %v", version, err)
		}
	}
}

// TestABackupThatCannotBeRestoredTouchesNothing causes one failure at a time,
// and then removes it.
func TestABackupThatCannotBeRestoredTouchesNothing(t *testing.T) {
	s := newScene(t)
	s.cluster("example", 1, nil)
	c := s.untilServing("example", 1)
	before := s.pods("example")
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil)
	good, err := os.ReadFile(world.s3.File("", b.Status.Path))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, content := range map[string][]byte{"truncated": good[:len(good)/2], "flipped": flipped} {
		if err := os.WriteFile(world.s3.File("backups", s.namespace+"/"+name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.create(&corev1.Secret{ObjectMeta: s.meta("rotated"), Data: map[string][]byte{"credentials": []byte("[default]\naws_access_key_id = nobody\naws_secret_access_key = former\n")}})
	allowed := map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}
	for name, tc := range map[string]struct {
		path, cluster, secret string
		annotations           map[string]string
		want                  string
	}{
		"a truncated object":    {"truncated", "example", "aws", allowed, etcdbackup.ReasonDamaged},
		"a byte that differs":   {"flipped", "example", "aws", allowed, etcdbackup.ReasonDamaged},
		"no object":             {"nothing", "example", "aws", allowed, string(store.NotFound)},
		"credentials of before": {"once", "example", "rotated", allowed, string(store.Denied)},
		"no Secret":             {"once", "example", "none", allowed, etcdbackup.ReasonMissingSecret},
		"no cluster":            {"once", "other", "aws", allowed, etcdrestore.ReasonMissingCluster},
		"a cluster that works":  {"once", "example", "aws", nil, etcdrestore.ReasonRunning},
	} {
		t.Run(name, func(t *testing.T) {
			at := &scene{T: t, namespace: s.namespace}
			r := &etcdv1beta2.EtcdRestore{ObjectMeta: at.meta(strings.ToLower(strings.ReplaceAll(name, " ", "-"))), Spec: etcdv1beta2.RestoreSpec{
				BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: at.source("backups/" + s.namespace + "/" + tc.path),
				EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: tc.cluster},
			}}
			r.Spec.S3.AWSSecret, r.Annotations = tc.secret, tc.annotations
			at.create(r)
			is := at.untilRestore(r.Name, "the refusal", func(r *etcdv1beta2.EtcdRestore) bool { return r.Status.Reason != "" })
			condition := meta.FindStatusCondition(is.Status.Conditions, etcdrestore.ConditionRestored)
			if condition == nil || condition.Reason != tc.want || is.Status.Succeeded || len(is.Finalizers) > 0 {
				t.Errorf("want %s: %+v", tc.want, is.Status)
			}
			now := &etcdv1beta2.EtcdCluster{}
			at.get(now, "example")
			if now.Status.ClusterID != c.Status.ClusterID || now.Annotations[wellknown.AnnotationEtcdRestore] != "" {
				t.Errorf("the cluster was touched: %+v", now)
			}
			if diff := cmp.Diff(before, at.pods("example")); diff != "" {
				t.Errorf("its pods were touched: %s", diff)
			}
		})
	}
	s.restore("right", "example", b.Status.Path, allowed)
	s.untilRestore("right", "the restore", succeeded)
	if now := s.untilServing("example", 1); now.Status.ClusterID == c.Status.ClusterID {
		t.Error("it is the old cluster")
	}
}
