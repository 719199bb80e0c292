package rules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// probe-identical: the liveness probe is the same as the readiness probe and
// fails as early.
//
// The kubelet then kills a pod that is not ready for a moment, for example
// because a dependency is unavailable. The same probe with more patience
// (failureThreshold times periodSeconds) is a common pattern and not a finding.
func init() {
	register(policies.Rule{
		ID:      "probe-identical",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Pods:    true,
		Summary: "The liveness probe and the readiness probe are the same",
		Harm:    "a pod that is not ready for a moment is restarted, which makes it less ready",
		Fix:     "write `failureThreshold: 10` into the livenessProbe, or check less in it",
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			live, ready := c.LivenessProbe, c.ReadinessProbe
			if live != nil && ready != nil && sameHandler(live, ready) && failureTime(live) <= failureTime(ready) {
				p.Report(c.Path().Child("livenessProbe"), nil, "livenessProbe of container "+c.Name+" is the same as its readinessProbe and fails as early; a pod that is not ready for a moment is restarted: write a higher failureThreshold")
			}
		}),
	})
}

// failureTime is how long a probe may fail, in seconds.
func failureTime(p *corev1.Probe) int32 {
	period, failures := p.PeriodSeconds, p.FailureThreshold
	if period == 0 {
		period = 10
	}
	if failures == 0 {
		failures = 3
	}
	return period * failures
}

func sameHandler(a, b *corev1.Probe) bool {
	switch {
	case a.HTTPGet != nil && b.HTTPGet != nil:
		x, y := a.HTTPGet, b.HTTPGet
		return x.Path == y.Path && x.Port == y.Port && x.Host == y.Host && x.Scheme == y.Scheme && slices.Equal(x.HTTPHeaders, y.HTTPHeaders)
	case a.TCPSocket != nil && b.TCPSocket != nil:
		return *a.TCPSocket == *b.TCPSocket
	case a.GRPC != nil && b.GRPC != nil:
		return a.GRPC.Port == b.GRPC.Port && value(a.GRPC.Service, "") == value(b.GRPC.Service, "")
	case a.Exec != nil && b.Exec != nil:
		return slices.Equal(a.Exec.Command, b.Exec.Command)
	}
	return false
}
