package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// sts-maxunavail-dropped: a StatefulSet says maxUnavailable where the API
// server drops it.
//
// The field needs the feature gate MaxUnavailableStatefulSet, off by default up
// to Kubernetes 1.36. Without it pods are replaced one by one, whatever the
// manifest says.
func init() {
	register(policies.Rule{
		ID:      "sts-maxunavail-dropped",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"StatefulSet"},
		Summary: "A StatefulSet's maxUnavailable is dropped in silence",
		Harm:    "the rollout goes pod by pod, as slow as ever, and the field is gone from the object",
		Fix:     "remove it, or turn on the feature gate MaxUnavailableStatefulSet",
		Servers: "without the feature gate MaxUnavailableStatefulSet, off by default up to 1.36",
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			r := s.Spec.UpdateStrategy.RollingUpdate
			if r != nil && r.MaxUnavailable != nil && !p.Features["MaxUnavailableStatefulSet"] {
				p.Report(field.NewPath("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), r.MaxUnavailable.String(), "maxUnavailable is "+r.MaxUnavailable.String()+", which "+p.ServerName()+" drops without the feature gate MaxUnavailableStatefulSet: remove it, or turn the gate on")
			}
		}),
	})
}
