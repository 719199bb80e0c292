package etcdcluster

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

func TestAClusterOfOneIsFormed(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
}

func TestAClusterGrowsAndShrinks(t *testing.T) {
	s := newScene(t)
	s.create(ofSize(1))
	s.settled(1, v36)
	for _, size := range []int{3, 5, 3, 1} {
		s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = size })
		s.settled(size, v36)
	}
}
