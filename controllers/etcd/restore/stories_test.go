//go:build e2e

package restore_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
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
	s.restore("back", "example", b.Status.Path, map[string]string{etcdv1beta2.AnnotationReplaceRunning: "true"})
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

// TestALostClusterIsRestoredByItselfOnce has each of two losses restored, and
// the second restore deleted.
func TestALostClusterIsRestoredByItselfOnce(t *testing.T) {
	s := newScene(t)
	s.passing("example", map[string]string{etcdv1beta2.AnnotationAutoRestore: "true"})
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

	// The next backup cannot be read any more: the second restore fails, and who
	// deletes it is not given another.
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

// looked waits until the controller has looked at the cluster once more, which
// it tells by the generation.
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
