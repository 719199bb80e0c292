package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// pod-no-liveness: no container of a workload that keeps running has a liveness
// probe.
//
// A program that hangs, is out of memory but has not ended, or loops still
// counts as running: its pod stays Ready and is never restarted.
func init() {
	register(policies.Rule{
		ID:      "pod-no-liveness",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"},
		Summary: "No container has a livenessProbe",
		Harm:    "the kubelet never restarts a program that hangs",
		Fix:     "write a livenessProbe that fails only if a restart helps, such as `livenessProbe: {httpGet: {path: /healthz, port: 8080}}`",
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			probed := len(t.Spec.Containers) == 0
			t.Containers(func(c policies.PodContainer) { probed = probed || c.LivenessProbe != nil })
			if !probed {
				p.Report(t.At("spec", "containers"), nil, "no container has a livenessProbe; the kubelet never restarts a program that hangs: write one that fails only if a restart helps")
			}
		}),
	})
}
