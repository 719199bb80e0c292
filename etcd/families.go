package etcd

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
)

// IPv6 reports whether members listen at IPv6 addresses, too: the spec asks for
// them, or for as many families as the cluster has.
func IPv6(spec *v1beta2.ClusterSpec) bool {
	dual := spec.IPFamilyPolicy == corev1.IPFamilyPolicyPreferDualStack || spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack
	return dual || slices.Contains(spec.IPFamilies, v1beta2.IPFamily(corev1.IPv6Protocol))
}
