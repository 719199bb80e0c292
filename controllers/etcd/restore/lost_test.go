//go:build e2e

package restore_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
)

// passing creates a cluster whose members' data is deleted with their pods.
func (s *scene) passing(name string, annotations map[string]string) {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: s.meta(name), Spec: etcdv1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}}
	c.Annotations = annotations
	s.create(c)
}

// loseMajority deletes two of the three pods of the cluster example.
func (s *scene) loseMajority() {
	s.Helper()
	left := 2
	for name := range s.pods("example") {
		if left == 0 {
			break
		}
		left--
		if err := world.client.Delete(s.Context(), &corev1.Pod{ObjectMeta: s.meta(name)}); err != nil {
			s.Fatal(err)
		}
	}
}

// lost waits until the status reports the lost quorum.
func (s *scene) lost(cluster string) *etcdv1beta2.EtcdCluster {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	s.until("the loss", func() any { return c.Status }, func() bool {
		s.get(c, cluster)
		lost := c.Status.Condition(etcdv1beta2.ClusterQuorumLost)
		return lost != nil && lost.Status == corev1.ConditionTrue
	})
	return c
}

// TestALostClusterSaysWhatToApply applies the manifest in its status unchanged.
func TestALostClusterSaysWhatToApply(t *testing.T) {
	s := newScene(t)
	s.passing("example", nil)
	s.untilServing("example", 3)
	s.backup("older", "example", "backups/"+s.namespace+"/older", nil)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	b := s.backup("newer", "example", "backups/"+s.namespace+"/newer", &etcdv1beta2.BackupPolicy{BackupIntervalInSecond: 3600})
	s.loseMajority()
	c := s.lost("example")
	offered := c.Status.Restore
	if offered == nil || offered.Backup != "newer" || offered.Path != b.Status.Path || offered.EtcdRevision != b.Status.EtcdRevision || !offered.Date.Equal(&b.Status.LastSuccessDate) {
		t.Fatalf("offered is %+v, saved was %+v", offered, b.Status)
	}
	if out, err := world.plane.Kubectl(t.Context(), offered.Manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var all etcdv1beta2.EtcdRestoreList
	if err := world.client.List(t.Context(), &all, client.InNamespace(s.namespace)); err != nil || len(all.Items) != 1 {
		t.Fatalf("%v: there is %v", err, all.Items)
	}
	s.untilRestore(all.Items[0].Name, "the restore", succeeded)
	c = s.untilServing("example", 3)
	if c.Status.Restore != nil {
		t.Errorf("the cluster is whole, and offered is %+v", c.Status.Restore)
	}
	if got, err := s.etcd("example").Get(t.Context(), "key"); err != nil || got.Count != 1 {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
}

// made waits for an EtcdRestore other than those.
func (s *scene) made(known ...string) string {
	s.Helper()
	var all etcdv1beta2.EtcdRestoreList
	s.until("an EtcdRestore", func() any { return all.Items }, func() bool {
		if err := world.client.List(s.Context(), &all, client.InNamespace(s.namespace)); err != nil {
			s.Fatal(err)
		}
		return len(all.Items) > len(known)
	})
	for _, r := range all.Items {
		if len(known) == 0 || r.Name != known[0] {
			return r.Name
		}
	}
	return ""
}

// TestAClusterThatCameBackIsNotReplaced stops the only member until the restore
// has begun.
func TestAClusterThatCameBackIsNotReplaced(t *testing.T) {
	s := newScene(t)
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	b := s.backup("once", "example", "backups/"+s.namespace+"/once", nil)
	before := s.pods("example")
	freeze := func(frozen bool) {
		for name := range before {
			if err := world.kubelet.Freeze(s.namespace, name, frozen); err != nil {
				t.Fatal(err)
			}
		}
	}
	freeze(true)
	s.restore("back", "example", b.Status.Path, nil)
	s.untilRestore("back", "waiting until the member is silent for long enough", func(r *etcdv1beta2.EtcdRestore) bool {
		return len(r.Status.Conditions) > 0 && r.Status.Conditions[0].Reason == etcdrestore.ReasonRunning
	})
	r := s.untilRestore("back", "the seed", func(r *etcdv1beta2.EtcdRestore) bool { return r.Status.Phase == etcdv1beta2.RestorePhaseSeeding })
	s.until("the pod of the seed", func() any { return "" }, func() bool { return world.kubelet.Unready(s.namespace, etcdrestore.SeedName(r), true) == nil })
	freeze(false)
	if _, err := s.etcd("example").Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := world.kubelet.Unready(s.namespace, etcdrestore.SeedName(r), false); err != nil {
		t.Fatal(err)
	}
	s.untilRestore("back", "the refusal", func(r *etcdv1beta2.EtcdRestore) bool {
		return r.Status.Phase == etcdv1beta2.RestorePhaseProving && len(r.Status.Conditions) > 0 && r.Status.Conditions[0].Reason == etcdrestore.ReasonRunning
	})
	if err := world.client.Delete(t.Context(), &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta("back")}); err != nil {
		t.Fatal(err)
	}
	s.untilServing("example", 1)
	for name, uid := range before {
		if after := s.pods("example"); after[name] != uid {
			t.Errorf("the pod %s was replaced: %v", name, after)
		}
	}
}
