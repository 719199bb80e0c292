package rules

import (
	appsv1 "k8s.io/api/apps/v1"
)

// of returns the number of pods that an amount stands for, as a share of total.
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

// deploymentStep returns how many pods a rollout may add and remove at once:
// the first is rounded up, the second down. rolls is false for Recreate.
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

// rollingDeployment returns a Deployment's rolling update, or nil if it has
// none or does not roll.
func rollingDeployment(d *appsv1.Deployment) *appsv1.RollingUpdateDeployment {
	if t := d.Spec.Strategy.Type; t != "" && t != appsv1.RollingUpdateDeploymentStrategyType {
		return nil
	}
	return d.Spec.Strategy.RollingUpdate
}

// rollingDaemonSet returns a DaemonSet's rolling update, or nil if it has none
// or does not roll.
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
