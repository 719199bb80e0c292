package rules

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// workload-restart-policy: a controller that keeps a number of pods running is
// given pods that may end.
//
// Deployment, ReplicaSet, StatefulSet, DaemonSet and ReplicationController
// count pods; the count means something only while every container that ends
// is started again. Unset is Always.
func init() {
	register(policies.Rule{
		ID:              "workload-restart-policy",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"},
		Summary:         "The pods of a workload that keeps running are not restarted always",
		Harm:            "the API server refuses the object: its controller counts running pods, so they must be restarted when they end",
		Fix:             "write restartPolicy: Always or leave it out; for work that ends use a Job",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			if policy := t.Spec.RestartPolicy; policy != "" && policy != corev1.RestartPolicyAlways {
				p.Report(t.At("spec", "restartPolicy"), policy,
					"restartPolicy is "+string(policy)+"; the pods of a "+p.Kind+" are kept running: write Always or leave it out, or make it a Job")
			}
		}),
	})
}
