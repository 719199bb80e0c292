package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// pod-no-liveness: no container of a workload that keeps running has a liveness
// probe.
//
// A program that is stuck, out of memory but not ended, or caught in a loop
// still counts as running: its pod stays Ready and is never restarted.
func init() {
	register(policies.Rule{
		ID:      "pod-no-liveness",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"},
		Summary: "No container has a livenessProbe",
		Harm:    "a program that is stuck but not ended is never restarted",
		Fix:     "write a livenessProbe that fails only when a restart helps",
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			probed := len(t.Spec.Containers) == 0
			t.Containers(func(c policies.PodContainer) { probed = probed || c.LivenessProbe != nil })
			if !probed {
				p.Report(t.At("spec", "containers"), nil, "no container has a livenessProbe; a program that is stuck is never restarted: write one that fails only when a restart helps")
			}
		}),
	})
}
