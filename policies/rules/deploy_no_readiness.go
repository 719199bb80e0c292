package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-no-readiness: the pods of a workload that serves have no readiness
// probe.
//
// Without one a pod is Ready as soon as its containers run, whether or not the
// program inside answers: a rollout continues with a version that does not
// work, and Services send traffic to it. If containers declare ports, each of
// them needs a probe; if none does, one probe in the pod is enough.
func init() {
	register(policies.Rule{
		ID:      "deploy-no-readiness",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"},
		Summary: "A container that serves has no readinessProbe",
		Harm:    "the pod gets traffic before it can answer, and a rollout continues with a version that never can",
		Fix:     "write a readinessProbe that makes the same request as the program's clients, such as `readinessProbe: {httpGet: {path: /, port: 8080}}`",
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			probed, serves := false, false
			t.Containers(func(c policies.PodContainer) {
				probed = probed || c.ReadinessProbe != nil
				serves = serves || !c.Init && len(c.Ports) > 0
			})
			if !serves && !probed && len(t.Spec.Containers) > 0 {
				p.Report(t.At("spec", "containers"), nil, "no container has a readinessProbe; the pod is Ready before it can answer: write one")
			}
			t.Containers(func(c policies.PodContainer) {
				if !c.Init && len(c.Ports) > 0 && c.ReadinessProbe == nil {
					p.Report(c.Path().Child("readinessProbe"), nil, "readinessProbe of container "+c.Name+" is not set, although it has ports; it gets traffic before it can answer: write one")
				}
			})
		}),
	})
}
