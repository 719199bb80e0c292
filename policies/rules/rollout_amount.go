package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// rollout-amount: maxSurge or maxUnavailable is neither a number of pods nor a
// percentage of them.
//
// A StatefulSet's maxUnavailable is judged only where its feature gate,
// MaxUnavailableStatefulSet, is on; elsewhere the field is dropped unread.
func init() {
	register(policies.Rule{
		ID:              "rollout-amount",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment", "DaemonSet", "StatefulSet"},
		Summary:         "maxSurge or maxUnavailable is no number of pods and no percentage",
		Harm:            "the API server refuses the object",
		Fix:             "write an integer of zero or more, or a percentage such as \"25%\"",
		RefusedByServer: true,
		Check: func(p *policies.Pass) {
			switch t := p.Typed.(type) {
			case *appsv1.Deployment:
				if r := rollingDeployment(t); r != nil {
					path := field.NewPath("spec", "strategy", "rollingUpdate")
					checkAmount(p, path, "maxUnavailable", r.MaxUnavailable, true)
					checkAmount(p, path, "maxSurge", r.MaxSurge, false)
				}
			case *appsv1.DaemonSet:
				if r := rollingDaemonSet(t); r != nil {
					path := field.NewPath("spec", "updateStrategy", "rollingUpdate")
					checkAmount(p, path, "maxUnavailable", r.MaxUnavailable, true)
					checkAmount(p, path, "maxSurge", r.MaxSurge, true)
				}
			case *appsv1.StatefulSet:
				if r := t.Spec.UpdateStrategy.RollingUpdate; r != nil && rollingStatefulSet(t) && p.Features["MaxUnavailableStatefulSet"] {
					checkAmount(p, field.NewPath("spec", "updateStrategy", "rollingUpdate"), "maxUnavailable", r.MaxUnavailable, true)
				}
			}
		},
	})
}

// rollingDeployment is a Deployment's rolling update, nil where it has none or
// does not roll.
func rollingDeployment(d *appsv1.Deployment) *appsv1.RollingUpdateDeployment {
	if t := d.Spec.Strategy.Type; t != "" && t != appsv1.RollingUpdateDeploymentStrategyType {
		return nil
	}
	return d.Spec.Strategy.RollingUpdate
}

// rollingDaemonSet is a DaemonSet's rolling update, nil where it has none or
// does not roll.
func rollingDaemonSet(d *appsv1.DaemonSet) *appsv1.RollingUpdateDaemonSet {
	if t := d.Spec.UpdateStrategy.Type; t != "" && t != appsv1.RollingUpdateDaemonSetStrategyType {
		return nil
	}
	return d.Spec.UpdateStrategy.RollingUpdate
}

func rollingStatefulSet(s *appsv1.StatefulSet) bool {
	t := s.Spec.UpdateStrategy.Type
	return t == "" || t == appsv1.RollingUpdateStatefulSetStrategyType
}
