package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// deploy-progress: a rollout is given up before a pod can count as available.
//
// A new pod is available after minReadySeconds; progressDeadlineSeconds, 600
// where it is not set, must be longer.
func init() {
	register(policies.Rule{
		ID:              "deploy-progress",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment"},
		Summary:         "progressDeadlineSeconds is not greater than minReadySeconds",
		Harm:            "the API server refuses the object: every rollout would be reported as stuck",
		Fix:             "write a progressDeadlineSeconds well above minReadySeconds and the time a pod takes to start",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			path := field.NewPath("spec", "progressDeadlineSeconds")
			ready := d.Spec.MinReadySeconds
			switch deadline := d.Spec.ProgressDeadlineSeconds; {
			case deadline == nil && ready >= 600:
				p.Report(path, nil, "progressDeadlineSeconds is not set, which means 600, and minReadySeconds is "+printed(ready)+": write more than that")
			case deadline != nil && *deadline < 0:
				p.Report(path, *deadline, "progressDeadlineSeconds is "+printed(*deadline)+": write more than minReadySeconds, or leave it out for 600")
			case deadline != nil && *deadline <= ready:
				p.Report(path, *deadline, "progressDeadlineSeconds is "+printed(*deadline)+" and minReadySeconds is "+printed(ready)+": write more than that")
			}
		}),
	})
}
