//go:build e2e

package etcd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

type volume = corev1.Volume

func TestGrowingAndShrinkingLosesNothing(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	w := s.write()
	for _, size := range []int{3, 5, 3} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = size })
		s.settled(size, v36)
	}
	s.verify(w)
}

func TestAllMembersKilledWithClaims(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	w := s.write()
	before := s.names()
	s.deletePods(before...)
	s.until("the cluster was seen down", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) < 2 })
	s.settled(3, v36)
	s.verify(w)
	if after := s.names(); !slices.Equal(before, after) {
		t.Errorf("the members were %q and are %q", before, after)
	}
}

func TestAllMembersKilledWithoutClaims(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	before := s.names()
	s.deletePods(before[:2]...)
	s.until("the loss is said", func(c *etcdv1beta2.EtcdCluster) bool {
		lost := c.Status.Condition(etcdv1beta2.ClusterQuorumLost)
		return lost != nil && lost.Status == corev1.ConditionTrue && c.Status.Phase == etcdv1beta2.ClusterPhaseFailed
	})
	if pods := s.pods(); len(pods) != 1 || !slices.Equal(before, s.names()) {
		t.Errorf("of %q the pods %d and the members %q are left: nothing may be removed", before, len(pods), s.names())
	}
}

// TestLostMembersAreReplaced kills members without claims in every way, whenever
// the cluster is healthy: one at a time, since two are the majority.
func TestLostMembersAreReplaced(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := newScene(t)
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			s.create(ofSize(3))
			s.settled(3, v36)
			w := s.write()
			var took []time.Duration
			for start := time.Now(); time.Since(start) < *killFor; {
				names := s.names()
				s.harm(random.IntN(3), names[random.IntN(len(names))])
				took = append(took, s.wholeAgain())
			}
			s.verify(w)
			slices.Sort(took)
			t.Logf("seed %d: %d kills; whole again after %s in the middle, %s at most", seed, len(took), took[len(took)/2], took[len(took)-1])
		})
	}
}

// harm kills a member in one of three ways, and waits until it is down or
// restarted.
func (s *scene) harm(way int, name string) {
	s.Helper()
	before := s.restarts(name)
	switch way {
	case 0:
		s.Log("kills the process of", name)
		s.kill(name)
	case 1:
		s.Log("deletes the pod of", name)
		s.deletePods(name)
	default:
		s.Log("deletes the data of", name)
		s.wipe(name)
	}
	s.until("the harm is seen", func(*etcdv1beta2.EtcdCluster) bool { return s.restarts(name) != before })
}
