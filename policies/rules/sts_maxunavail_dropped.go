package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// sts-maxunavail-dropped: the API server drops a StatefulSet's maxUnavailable.
//
// The field needs the feature gate MaxUnavailableStatefulSet, off by default up
// to Kubernetes 1.36. Without it the controller replaces pods one by one,
// whatever the manifest says. Only a manifest can have the field there: in a
// cluster the API server has dropped it before it calls a webhook, and where it
// has not, the gate is on.
func init() {
	register(policies.Rule{
		ID:        "sts-maxunavail-dropped",
		Level:     finding.Baseline,
		Since:     release.V(0, 1),
		Kinds:     []string{"StatefulSet"},
		Summary:   "The API server silently drops a StatefulSet's maxUnavailable",
		Harm:      "the rollout still replaces one pod at a time, and the field is missing from the stored object",
		Fix:       "remove the field, or enable the feature gate MaxUnavailableStatefulSet",
		Servers:   &policies.Servers{Before: 37, Only: "without the feature gate MaxUnavailableStatefulSet"},
		Manifests: true,
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			r := s.Spec.UpdateStrategy.RollingUpdate
			if r != nil && r.MaxUnavailable != nil && !p.Features["MaxUnavailableStatefulSet"] {
				p.Report(field.NewPath("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), r.MaxUnavailable.String(), "maxUnavailable is "+r.MaxUnavailable.String()+", which "+p.ServerName()+" drops without the feature gate MaxUnavailableStatefulSet: remove it, or enable the gate")
			}
		}),
	})
}
