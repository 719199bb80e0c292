package cluster_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// identities are the UIDs of the claims, and etcd's IDs of the members.
func (s *scene) identities() map[string]string {
	s.Helper()
	var claims corev1.PersistentVolumeClaimList
	s.must(shared.client.List(s.ctx, &claims, client.InNamespace(s.namespace)))
	all := map[string]string{}
	for _, c := range claims.Items {
		all["claim "+c.Name] = string(c.UID)
	}
	for _, m := range s.cluster().Status.MemberStatuses {
		all["member "+m.Name] = m.ID
	}
	return all
}

// sleeps waits until the cluster hibernates.
func (s *scene) sleeps() {
	s.Helper()
	s.until("the cluster hibernates", func(c *etcdv1beta2.EtcdCluster) bool {
		return c.Status.Phase == etcdv1beta2.ClusterPhaseHibernated && condition(c, etcdv1beta2.ClusterHibernated) == corev1.ConditionTrue
	})
}

func TestAClusterHibernates_AndWakesWithItsData(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	w := s.write()
	before := s.identities()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Hibernated = true })
	s.sleeps()
	// It stays asleep, for several times as long as a member may be silent, and
	// edits wait.
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Size = 4
		spec.Pod.Labels = map[string]string{"team": "shop"}
	})
	s.looks(40)
	s.rests()
	c := s.cluster()
	if pods := s.pods(); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}
	if diff := cmp.Diff(before, s.identities()); diff != "" {
		t.Errorf("claims and members (-before +asleep):\n%s", diff)
	}
	available := c.Status.Condition(etcdv1beta2.ClusterAvailable)
	if available.Status != corev1.ConditionFalse || available.Reason != "Hibernated" || len(c.Status.SetAside) != 0 {
		t.Errorf("Available is %+v, and %d claims are set aside", available, len(c.Status.SetAside))
	}
	for _, is := range c.Status.Conditions {
		if is.Status != corev1.ConditionFalse && is.Type != etcdv1beta2.ClusterHibernated {
			t.Errorf("the condition %s is %s: %s", is.Type, is.Status, is.Message)
		}
	}
	for _, m := range c.Status.MemberStatuses {
		if m.Lost {
			t.Errorf("%s is said to be lost", m.Name)
		}
	}
	want := map[string]float64{"usher_etcdcluster_hibernated": 1, "usher_etcdcluster_available": 0, "usher_etcdcluster_quorum_lost": 0, "usher_etcdcluster_stalled": 0}
	is := map[string]float64{}
	for name := range want {
		maps.Copy(is, map[string]float64{name: s.gauges(name)[""]})
	}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Hibernated = false })
	s.settled(4, v36)
	after := s.identities()
	for name, id := range before {
		if after[name] != id {
			t.Errorf("%s was %s, and is %q", name, id, after[name])
		}
	}
	for _, p := range s.pods() {
		if p.Labels["team"] != "shop" {
			t.Errorf("%s has an earlier spec's labels", p.Name)
		}
	}
	if is := s.cluster().Status.Condition(etcdv1beta2.ClusterHibernated); is == nil || is.Status != corev1.ConditionFalse || is.Reason != "Done" {
		t.Errorf("the condition is %+v", is)
	}
	w.verify()
}

func TestAClusterWithoutClaims_DoesNotHibernate(t *testing.T) {
	s := newScene(t)
	spec := ofSize(1)
	spec.Hibernated = true
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}, Spec: spec}
	if err := shared.client.Create(s.ctx, c); err == nil || !strings.Contains(err.Error(), "hibernated needs spec.pod.persistentVolumeClaimSpec") {
		t.Fatalf("creating it: %v", err)
	}
	s.create(ofSize(1))
	s.settled(1, v36)
	// The spec gets claims at the same time, which the member does not have yet.
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) {
		spec.Hibernated = true
		spec.Pod = &etcdv1beta2.PodPolicy{PersistentVolumeClaimSpec: claimTemplate("1Gi")}
	})
	s.until("it says why not", func(c *etcdv1beta2.EtcdCluster) bool {
		is := c.Status.Condition(etcdv1beta2.ClusterHibernated)
		return is != nil && is.Reason == "Refused" && condition(c, etcdv1beta2.ClusterRefusedChange) == corev1.ConditionTrue
	})
	s.sleeps()
	if pods := s.pods(); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Hibernated = false })
	s.settled(1, v36)
	w.verify()
}

// TestHibernationChangesNoPod holds that the field is not part of the hashes by
// which members are recreated, so that upgrades and rollbacks recreate none.
func TestHibernationChangesNoPod(t *testing.T) {
	without, with := onClaims(3), onClaims(3)
	with.Hibernated = true
	if etcd.PodRevision(&without) != etcd.PodRevision(&with) || etcd.StorageRevision(&without) != etcd.StorageRevision(&with) {
		t.Error("the field changes the revision of pods or claims")
	}
}
