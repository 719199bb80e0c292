package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// v35 is the newest patch of the oldest minor version.
const v35 = "3.5.35"

// TestDowngrade_UnderLoad_LosesNothing lowers the version as far as usher runs etcd,
// and raises it again.
func TestDowngrade_UnderLoad_LosesNothing(t *testing.T) {
	s := newScene(t)
	spec := onClaims(3)
	spec.Version = v37
	s.create(spec)
	s.settled(3, v37)
	before := s.names()
	w := s.write()
	for _, version := range []string{v36, v35, v36} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = version })
		s.settled(3, version)
	}
	w.verify()
	if after := s.names(); !equal(before, after) {
		t.Errorf("the members were %q and are %q", before, after)
	}
}

// TestDowngrade_TakenBack_EndsInEtcd raises the version again while only some members
// run the older one, and then lowers it while the cluster grows: etcd lets no member
// join during a downgrade.
func TestDowngrade_TakenBack_EndsInEtcd(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(2))
	s.settled(2, v36)
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v35 })
	s.until("a member runs "+v35, func(c *etcdv1beta2.EtcdCluster) bool {
		for _, m := range c.Status.MemberStatuses {
			if m.Version == v35 {
				return condition(c, etcdv1beta2.ClusterUpgrading) == corev1.ConditionTrue && c.Status.TargetVersion == v35
			}
		}
		return false
	})
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v36 })
	s.settled(2, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version, spec.Size = v35, 3 })
	s.settled(3, v35)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v36 })
	s.settled(3, v36)
	w.verify()
}
