package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-hidden-outage: maxSurge is 0, and maxUnavailable rounds down to 0.
//
// The controller then stops one pod anyway, because it could not roll out
// otherwise. With one replica that is an outage at every rollout, although the
// strategy seems to forbid it.
func init() {
	register(policies.Rule{
		ID:      "deploy-hidden-outage",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment"},
		Summary: "maxSurge is 0, and maxUnavailable rounds down to 0",
		Harm:    "the controller forces maxUnavailable to 1; with one replica every rollout is an outage",
		Fix:     "write `maxSurge: 1` with `maxUnavailable: 0`; if the pods use a ReadWriteOnce volume, write `maxUnavailable: 1`",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			replicas := value(d.Spec.Replicas, 1)
			surge, unavailable, rolls := deploymentStep(d)
			if !rolls || replicas < 1 || surge != 0 || unavailable != 0 {
				return
			}
			r := rollingDeployment(d)
			share := readAmount(r.MaxUnavailable, "25%")
			if share.value == 0 {
				return // the API server refuses it
			}
			outage := "one pod less is forced"
			if replicas == 1 {
				outage = "each rollout is an outage"
			}
			instead := "write maxSurge: 1"
			if mountsExclusively(p, d) { // a new pod would wait for the volume of the old one
				instead = "write maxUnavailable: 1, which says so"
			}
			p.Report(field.NewPath("spec", "strategy", "rollingUpdate", "maxUnavailable"), share.text, "maxUnavailable is "+share.text+" of "+printed(replicas)+", which rounds down to 0, and maxSurge is 0; "+outage+": "+instead)
		}),
	})
}
