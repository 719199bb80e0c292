package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sts-partition: the partition of a rolling update is beyond the last pod.
//
// The controller updates only pods whose ordinal is at least partition.
// Ordinals start at ordinals.start, so the last is that plus replicas minus
// one.
func init() {
	register(policies.Rule{
		ID:      "sts-partition",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"StatefulSet"},
		Summary: "partition is beyond the last pod",
		Harm:    "no pod is ever updated",
		Fix:     "write `partition: 0` to update all pods, or at most the last ordinal",
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			r := s.Spec.UpdateStrategy.RollingUpdate
			if r == nil || r.Partition == nil || *r.Partition < 1 || !rollingStatefulSet(s) {
				return
			}
			end := value(s.Spec.Replicas, 1)
			if s.Spec.Ordinals != nil {
				end += s.Spec.Ordinals.Start
			}
			if *r.Partition >= end {
				p.Report(field.NewPath("spec", "updateStrategy", "rollingUpdate", "partition"), *r.Partition, "partition is "+printed(*r.Partition)+", and the last pod is number "+printed(end-1)+"; no pod is ever updated: write 0 to update all")
			}
		}),
	})
}
