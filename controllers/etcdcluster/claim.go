package etcdcluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A storage is what a member keeps its data on.
type storage struct {
	claim    bool
	revision string
}

// claimOf is a member's claim. It goes with the cluster, as what is made by a
// manifest goes with it.
func (d *desired) claimOf(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.cluster.Namespace, Name: name, OwnerReferences: ownedBy(d.cluster),
			Labels:      labels.Merge(labelsOf(d.cluster.Name), labels.Set{LabelNode: name}),
			Annotations: map[string]string{AnnotationStorageRevision: d.storageRevision, AnnotationTLS: d.tls.recorded},
		},
		Spec: *d.policy().PersistentVolumeClaimSpec.DeepCopy(),
	}
}

// dataOf is the volume with a member's data.
func dataOf(name string, s storage) corev1.Volume {
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if s.claim {
		source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	return corev1.Volume{Name: dataVolume, VolumeSource: source}
}
