//go:build e2e || soak

package etcdsafety_test

import (
	"slices"
	"testing"
	"time"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

func init() { down["one of three"], down["all"] = 1, 3 }

// TestANodesClockIsNotBelieved makes a member fail its readiness probe
// repeatedly for a moment, on a node whose clock is five minutes slow.
func TestANodesClockIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := newScene(t, shared, 3)
	members, claims := s.members(), s.claims()
	slow := members[0]
	s.must(s.kubelet.SetBehind(s.namespace, slow, 5*time.Minute))
	for range 4 {
		s.must(s.kubelet.Unready(s.namespace, slow, true))
		s.until("the controller has seen the probe fail", func(c *etcdv1beta2.EtcdCluster) bool {
			return !slices.Contains(c.Status.Members.Ready, slow)
		})
		// Shorter than the controller's member timeout.
		moment := 4 * time.Second
		s.during(moment, func() string { return s.sameData(claims) })
		s.must(s.kubelet.Unready(s.namespace, slow, false))
		s.during(moment, func() string { return s.sameData(claims) })
	}
	s.settled(3)
	if now := s.members(); !slices.Equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
	s.verify()
}
