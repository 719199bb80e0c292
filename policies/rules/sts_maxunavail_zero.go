package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// sts-maxunavail-zero: a StatefulSet may have no pod unavailable while it
// rolls, so it could replace none.
//
// Only where the feature gate MaxUnavailableStatefulSet is on. It is off by
// default up to Kubernetes 1.36; there the field is dropped in silence, which
// is the rule sts-maxunavail-dropped.
func init() {
	register(policies.Rule{
		ID:              "sts-maxunavail-zero",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"StatefulSet"},
		Summary:         "A StatefulSet's maxUnavailable is 0",
		Harm:            "the API server refuses the object: no pod could ever be replaced",
		Fix:             "write maxUnavailable: 1 or more, or leave it out for 1",
		Servers:         "with the feature gate MaxUnavailableStatefulSet, off by default up to 1.36",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, s *appsv1.StatefulSet) {
			r := s.Spec.UpdateStrategy.RollingUpdate
			if r == nil || r.MaxUnavailable == nil || !rollingStatefulSet(s) || !p.Features["MaxUnavailableStatefulSet"] {
				return
			}
			if a := readAmount(r.MaxUnavailable, ""); a.value == 0 && (a.percent || r.MaxUnavailable.StrVal == "") {
				p.Report(field.NewPath("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), a.text, "maxUnavailable is "+a.text+"; no pod could ever be replaced: write 1 or more")
			}
		}),
	})
}
