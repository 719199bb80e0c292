package etcdsafety_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// down is how many of three kubelets are down; clock_test.go adds others.
var down = map[string]int{"two of three": 2}

// TestMembersWhoseKubeletsAreDownAreKept disconnects nodes from the API server
// whose members answer and vote. The controller must not believe the kubelet
// over etcd.
func TestMembersWhoseKubeletsAreDownAreKept(t *testing.T) {
	t.Parallel()
	for name, down := range down {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, shared, 3)
			members, claims, writes := s.members(), s.claims(), s.traffic.Writes()
			for _, m := range members[:down] {
				s.must(s.kubelet.Disconnect(t.Context(), s.namespace, m))
			}
			s.throughout(func() string {
				c := s.cluster()
				if says(c, etcdv1beta2.ClusterQuorumLost) == corev1.ConditionTrue {
					return "the majority is said to be lost, and it answers: " + c.Status.Condition(etcdv1beta2.ClusterQuorumLost).Message
				}
				if says(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue {
					return "the cluster is said not to be available, and it answers"
				}
				return s.sameData(claims)
			})
			if more := s.traffic.Writes() - writes; more < 100 {
				t.Errorf("only %d writes were acknowledged meanwhile", more)
			}
			for _, m := range members[:down] {
				s.must(s.kubelet.Connect(t.Context(), s.namespace, m))
			}
			s.settled(3)
			if now := s.members(); !slices.Equal(members, now) {
				t.Errorf("the members were %q and are %q", members, now)
			}
			s.verify()
		})
	}
}
