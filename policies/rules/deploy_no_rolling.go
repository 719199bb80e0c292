package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-no-rolling: an update stops all pods at once.
func init() {
	register(policies.Rule{
		ID:      "deploy-no-rolling",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment"},
		Summary: "The strategy is Recreate, or maxUnavailable covers all pods",
		Harm:    "each update is an outage, which lasts if the new version does not start",
		Fix:     "write `strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}`, unless two versions must never run side by side",
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			path := field.NewPath("spec", "strategy")
			if t := d.Spec.Strategy.Type; t == appsv1.RecreateDeploymentStrategyType {
				p.Report(path.Child("type"), t, "type is Recreate; all old pods stop before the first new one starts: write RollingUpdate unless two versions must never run side by side")
				return
			}
			r := rollingDeployment(d)
			if r == nil || r.MaxUnavailable == nil {
				return
			}
			replicas := value(d.Spec.Replicas, 1)
			if share := readAmount(r.MaxUnavailable, ""); replicas > 0 && share.of(replicas, false) >= int(replicas) {
				p.Report(path.Child("rollingUpdate", "maxUnavailable"), share.text, "maxUnavailable is "+share.text+" of "+printed(replicas)+"; all pods may be unavailable at once: write less")
			}
		}),
	})
}
