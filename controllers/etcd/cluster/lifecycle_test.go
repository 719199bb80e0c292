package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

func claimTemplate(size string) *corev1.PersistentVolumeClaimSpec {
	return &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}
}

func TestAClusterGrowsAndShrinksUnderLoad(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	w := s.write()
	for _, size := range []int{3, 1} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = size })
		s.settled(size, v36)
	}
	w.verify()
}

func TestAnUpgradeLosesNothing(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	before := s.names()
	w := s.write()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v37 })
	s.settled(3, v37)
	w.verify()
	// They are the same members, with their data.
	if after := s.names(); !equal(before, after) {
		t.Errorf("the members were %q and are %q", before, after)
	}
}

func TestAMemberIsUpgradedAlone(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = v37 })
	s.settled(1, v37)
}
