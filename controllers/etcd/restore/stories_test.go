//go:build e2e

package restore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
)

// TestRestartOperator kills the controllers in every phase of a restore.
func TestRestartOperator(t *testing.T) {
	s := emptyScene(t)
	process := s.process()
	s.cluster("example", 3, nil)
	s.untilServing("example", 3)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil)
	s.restore("back", "example", b.Status.Path, map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"})
	order := []string{
		etcdv1beta2.RestorePhaseLooking, etcdv1beta2.RestorePhaseSeeding, etcdv1beta2.RestorePhaseProving,
		etcdv1beta2.RestorePhaseSwitching, etcdv1beta2.RestorePhaseGrowing, etcdv1beta2.RestorePhaseSucceeded,
	}
	at := func(phase string) int {
		for i, p := range order {
			if p == phase {
				return i
			}
		}
		return -1
	}
	var killed []string
	for i := range order[:len(order)-1] {
		is := s.untilRestore("back", "phase "+order[i], func(r *etcdv1beta2.EtcdRestore) bool { return at(r.Status.Phase) >= i })
		if is.Status.Phase == etcdv1beta2.RestorePhaseSucceeded {
			break
		}
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait()
		killed = append(killed, is.Status.Phase)
		process = s.process()
	}
	t.Logf("killed in %v", killed)
	s.untilRestore("back", "the restore", succeeded)
	s.untilServing("example", 3)
	got, err := s.etcd("example").Get(t.Context(), "key")
	if err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
	if kept := s.kept("back"); len(kept) != 3 {
		t.Errorf("kept are %v", kept)
	}
}

// TestALostClusterIsRestoredByItselfOnce restores after each of two losses, and
// deletes the second restore.
func TestALostClusterIsRestoredByItselfOnce(t *testing.T) {
	s := newScene(t)
	s.passing("example", map[string]string{wellknown.AnnotationEtcdAutoRestore: "true"})
	s.untilServing("example", 3)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil)
	s.loseMajority()
	made := s.made()
	first := s.untilRestore(made, "the restore", succeeded)
	c := s.untilServing("example", 3)
	if first.Status.EtcdRevision != b.Status.EtcdRevision || !metav1.IsControlledBy(first, c) {
		t.Errorf("it is of %+v, and its status %+v", first.OwnerReferences, first.Status)
	}
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}

	// The next backup is unreadable: the second restore fails, and after its
	// deletion the controller does not create another.
	s.backup("again", "example", "backups/"+s.namespace+"/again", nil)
	secret := &corev1.Secret{ObjectMeta: s.meta("aws")}
	if err := world.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.loseMajority()
	second := s.made(made)
	s.untilRestore(second, "the failure", func(r *etcdv1beta2.EtcdRestore) bool { return r.Status.Reason != "" })
	if err := world.client.Delete(t.Context(), &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta(second)}); err != nil {
		t.Fatal(err)
	}
	s.looked("example")
	var all etcdv1beta2.EtcdRestoreList
	if err := world.client.List(t.Context(), &all, client.InNamespace(s.namespace)); err != nil || len(all.Items) != 1 || all.Items[0].Name != made {
		t.Errorf("%v: there is %v", err, all.Items)
	}
}

// looked waits until the controller has observed the cluster once more, which
// the generation shows.
func (s *scene) looked(cluster string) {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	for range 2 {
		s.get(c, cluster)
		was := c.DeepCopy()
		c.Spec.Size++
		if err := world.client.Patch(s.Context(), c, client.MergeFrom(was)); err != nil {
			s.Fatal(err)
		}
		s.until("a look", func() any { return c.Status }, func() bool {
			s.get(c, cluster)
			return c.Status.ObservedGeneration == c.Generation
		})
	}
}

// TestBackupAndRestore backs up a cluster during writes, once and periodically,
// loses all of it, and restores it.
func TestBackupAndRestore(t *testing.T) {
	s := newScene(t)
	s.cluster("example", 3, nil)
	s.untilServing("example", 3)
	etcd := s.etcd("example")

	// The writer remembers the revision.
	var written atomic.Int64
	revisions := make(chan int64, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			r, err := etcd.Put(ctx, fmt.Sprintf("load/%06d", i), strings.Repeat("x", 256))
			if err != nil {
				return
			}
			revisions <- r.Header.Revision
			written.Add(1)
		}
	}()
	s.until("some load", func() any { return written.Load() }, func() bool { return written.Load() > 200 })
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil)
	periodic := s.backup("periodic", "example", "backups/"+s.namespace+"/periodic", &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 2})
	more := written.Load() + 100
	s.until("more load", func() any { return written.Load() }, func() bool { return written.Load() > more })
	cancel()
	<-done
	close(revisions)
	if err := world.client.Delete(t.Context(), periodic); err != nil {
		t.Fatal(err)
	}
	before := s.hash(etcd, b.Status.EtcdRevision)

	s.lose("example")
	s.until("the loss", func() any { return "" }, func() bool {
		c := &etcdv1beta2.EtcdCluster{}
		s.get(c, "example")
		return len(c.Status.Members.Ready) == 0
	})
	s.restore("back", "example", b.Status.Path, nil)
	r := s.untilRestore("back", "the restore", succeeded)
	c := s.untilServing("example", 3)

	again := s.etcd("example")
	if after := s.hash(again, b.Status.EtcdRevision); after != before {
		t.Errorf("the hash at revision %d is %d, and was %d", b.Status.EtcdRevision, after, before)
	}
	keys, i := 0, 0
	for revision := range revisions {
		if revision <= b.Status.EtcdRevision {
			got, err := again.Get(t.Context(), fmt.Sprintf("load/%06d", i))
			if err != nil {
				t.Fatal(err)
			}
			if got.Count != 1 {
				t.Errorf("load/%06d, written at revision %d, is not there", i, revision)
			}
			keys++
		}
		i++
	}
	t.Logf("%d keys of %d were written up to revision %d, and are there", keys, i, b.Status.EtcdRevision)
	if r.Status.EtcdRevision != b.Status.EtcdRevision || r.Status.Path != b.Status.Path || !meta.IsStatusConditionTrue(r.Status.Conditions, etcdrestore.ConditionRestored) {
		t.Errorf("status is %+v", r.Status)
	}
	kept := s.kept("back")
	if len(kept) != 3 {
		t.Errorf("kept are %v", kept)
	}
	for _, name := range kept {
		if !strings.Contains(r.Status.WayBack, name) {
			t.Errorf("the way back does not tell of %s: %s", name, r.Status.WayBack)
		}
	}
	if c.Annotations[wellknown.AnnotationEtcdRestore] != "" || len(r.Finalizers) > 0 {
		t.Errorf("it still has the cluster: %v, %v", c.Annotations, r.Finalizers)
	}
	if _, err := again.Put(t.Context(), "after", "restore"); err != nil {
		t.Errorf("it does not take writes: %v", err)
	}
}
