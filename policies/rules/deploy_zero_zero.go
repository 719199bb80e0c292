package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// deploy-zero-zero: a Deployment may neither add a pod nor take one away, so it
// could never roll; or it recreates its pods and says how to roll them.
func init() {
	register(policies.Rule{
		ID:              "deploy-zero-zero",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment"},
		Summary:         "maxSurge and maxUnavailable are both 0, or stand beside Recreate",
		Harm:            "the API server refuses the object: a rollout could not take its first step",
		Fix:             "write maxSurge: 1 (or more) with maxUnavailable: 0; with Recreate leave rollingUpdate out",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			path := field.NewPath("spec", "strategy", "rollingUpdate")
			if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
				if r := d.Spec.Strategy.RollingUpdate; r != nil {
					p.Report(path, r, "rollingUpdate is set, but the strategy is Recreate: remove it, or write type: RollingUpdate")
				}
				return
			}
			r := rollingDeployment(d)
			if r == nil {
				return
			}
			unavailable, surge := readAmount(r.MaxUnavailable, "25%"), readAmount(r.MaxSurge, "25%")
			if unavailable.value == 0 && surge.value == 0 {
				p.Report(path.Child("maxUnavailable"), unavailable.text, "maxUnavailable is "+unavailable.text+" and maxSurge is "+surge.text+"; a rollout could not take its first step: write maxSurge: 1 or more")
			}
		}),
	})
}
