package member

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spread returns the constraints; those without a selector count the members of
// the cluster.
func spread(cluster string, constraints []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	all := slices.Clone(constraints)
	for i := range all {
		if all[i].LabelSelector == nil {
			all[i].LabelSelector = &metav1.LabelSelector{MatchLabels: LabelsOf(cluster)}
		}
	}
	return all
}
