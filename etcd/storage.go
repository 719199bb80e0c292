package etcd

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// RequestedStorage returns the size of the claims in the spec; zero without claims.
func RequestedStorage(spec *v1beta2.ClusterSpec) resource.Quantity {
	if claim := ClaimSpec(spec); claim != nil {
		return claim.Resources.Requests[corev1.ResourceStorage]
	}
	return resource.Quantity{}
}

// OnlySizeGrows reports whether storage of that size and revision differs from the
// spec in nothing but that the spec asks for more.
func OnlySizeGrows(spec *v1beta2.ClusterSpec, has resource.Quantity, revision string) bool {
	wanted := RequestedStorage(spec)
	if wanted.Cmp(has) <= 0 {
		return false
	}
	was := v1beta2.ClusterSpec{Pod: &v1beta2.PodPolicy{PersistentVolumeClaimSpec: ClaimSpec(spec).DeepCopy()}}
	// A hash is of the canonical text, which depends on the format: 1Gi and 1024Mi
	// are the same, 1073741824 is another.
	for _, format := range []resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent} {
		was.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(has.Value(), format)
		if StorageRevision(&was) == revision {
			return true
		}
	}
	return false
}
