package rules

import (
	appsv1 "k8s.io/api/apps/v1"
)

// of is the number of pods an amount stands for, as a share of total.
func (a amount) of(total int32, roundUp bool) int {
	if !a.percent {
		return a.value
	}
	n := a.value * int(total)
	if roundUp {
		return (n + 99) / 100
	}
	return n / 100
}

// deploymentStep is how many pods a rollout may add and take away at once: the
// first is rounded up, the second down. rolls is false for Recreate.
func deploymentStep(d *appsv1.Deployment) (surge, unavailable int, rolls bool) {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, 0, false
	}
	r := rollingDeployment(d)
	if r == nil {
		r = &appsv1.RollingUpdateDeployment{}
	}
	replicas := value(d.Spec.Replicas, 1)
	return readAmount(r.MaxSurge, "25%").of(replicas, true), readAmount(r.MaxUnavailable, "25%").of(replicas, false), true
}
