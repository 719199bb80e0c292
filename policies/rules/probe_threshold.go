package rules

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// probe-threshold: a liveness or startup probe wants more than one success.
//
// A container is alive, or has started, with the first success; only readiness
// can ask for several. Zero is read as unset, which is 1.
func init() {
	register(policies.Rule{
		ID:              "probe-threshold",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "successThreshold of a liveness or startup probe is not 1",
		Harm:            "the API server refuses the object",
		Fix:             "write successThreshold: 1 or leave it out; only readiness probes can ask for more",
		RefusedByServer: true,
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			if c.Init && !c.Sidecar() {
				return // no probe is allowed there at all: another finding
			}
			for _, probe := range []struct {
				name string
				*corev1.Probe
			}{{"livenessProbe", c.LivenessProbe}, {"startupProbe", c.StartupProbe}} {
				if probe.Probe != nil && probe.SuccessThreshold != 0 && probe.SuccessThreshold != 1 {
					p.Report(c.Path().Child(probe.name, "successThreshold"), probe.SuccessThreshold,
						"successThreshold of the "+probe.name+" is "+printed(probe.SuccessThreshold)+": write 1 or leave it out")
				}
			}
		}),
	})
}
