//go:build e2e

package cluster_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// The stories that are too slow for make test, and that make e2e-etcd runs.
func init() {
	losses["its pod is evicted"] = func(s *scene, name string) { s.must(shared.kubelet.Evict(s.namespace, name)) }
	// It no longer starts, since it is sealed: it would forget its votes.
	losses["its data is deleted"] = func(s *scene, name string) { s.must(shared.kubelet.Wipe(s.namespace, name)) }
	crashing["without a claim"] = ofSize(3)
}

func TestTheFirstMemberNeverFormsASecondCluster(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	w := s.write()
	first := s.names()[0]
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.settled(3, v36)
	s.must(shared.kubelet.Wipe(s.namespace, first))
	s.until("another is in its place", func(c *etcdv1beta2.EtcdCluster) bool {
		return whole(c, 3, v36) && !contains(s.names(), first)
	})
	w.verify()
}

// majorities are how many of three members are lost; stories_test.go adds others.
var majorities = map[string]int{"two of three": 2, "all": 3}

func TestALostMajorityIsReportedAndNothingIsRemoved(t *testing.T) {
	t.Parallel()
	for name, losses := range majorities {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.create(ofSize(3))
			s.settled(3, v36)
			before := s.names()
			for _, name := range before[:losses] {
				s.deletePod(name)
			}
			s.until("it is said", func(c *etcdv1beta2.EtcdCluster) bool {
				return condition(c, etcdv1beta2.ClusterQuorumLost) == corev1.ConditionTrue
			})
			s.until("it is not said to run", func(c *etcdv1beta2.EtcdCluster) bool {
				return c.Status.Phase == etcdv1beta2.ClusterPhaseFailed && condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionFalse
			})
			s.looks(5)
			if after := s.names(); !equal(before, after) {
				t.Errorf("the members were %q and are %q", before, after)
			}
			if left := len(s.pods()); left != 3-losses {
				t.Errorf("%d pods are left", left)
			}
			if message := s.cluster().Status.Condition(etcdv1beta2.ClusterQuorumLost).Message; !strings.Contains(message, "restore") {
				t.Errorf("the message does not say what to do: %s", message)
			}
		})
	}
}

func TestAPausedClusterIsLeftAlone(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Paused, spec.Size = true, 3 })
	s.until("the controller is paused", func(c *etcdv1beta2.EtcdCluster) bool { return c.Status.ControlPaused })
	s.looks(3)
	if names := s.names(); len(names) != 1 {
		t.Errorf("%d members while paused", len(names))
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Paused = false })
	s.settled(3, v36)
}

// rolled are the clusters whose pods are rolled; stories_test.go adds others.
var rolled = map[string]etcdv1beta2.ClusterSpec{"members with claims stay": onClaims(3), "members without claims are replaced": ofSize(3)}

func TestPodsAndStorageAreRolled(t *testing.T) {
	t.Parallel()
	for name, spec := range rolled {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.create(spec)
			s.settled(3, v36)
			before := s.names()
			w := s.write()
			s.edit(func(spec *etcdv1beta2.ClusterSpec) {
				if spec.Pod == nil {
					spec.Pod = &etcdv1beta2.PodPolicy{}
				}
				spec.Pod.Labels = map[string]string{"team": "shop"}
			})
			s.until("all pods have the label", func(c *etcdv1beta2.EtcdCluster) bool {
				pods := s.pods()
				for _, p := range pods {
					if p.Labels["team"] != "shop" {
						return false
					}
				}
				return len(pods) == 3 && whole(c, 3, v36)
			})
			w.verify()
			stay := spec.Pod != nil
			if after := s.names(); equal(before, after) != stay {
				t.Errorf("the members were %q and are %q", before, after)
			}
		})
	}
}
