package member

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/etcd"
)

// listen returns the address at which members listen. A host without IPv6 cannot
// listen at [::], and one with it listens there for both families.
func (d *Desired) listen() string {
	if etcd.IPv6(&d.Cluster.Spec) {
		return "[::]"
	}
	return "0.0.0.0"
}

// families sets the families of a Service, as far as the manifest does: the API
// server has chosen the others.
func (d *Desired) families(s *corev1.ServiceSpec) {
	spec := &d.Cluster.Spec
	if policy := spec.IPFamilyPolicy; policy != "" {
		s.IPFamilyPolicy = &policy
	}
	if len(spec.IPFamilies) == 0 {
		return
	}
	// PreferDualStack with one family gets another one, if the cluster has it.
	for i, family := range spec.IPFamilies {
		if i < len(s.IPFamilies) {
			s.IPFamilies[i] = corev1.IPFamily(family)
		} else {
			s.IPFamilies = append(s.IPFamilies, corev1.IPFamily(family))
		}
	}
}
