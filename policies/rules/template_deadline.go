package rules

import (
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// template-deadline: the pods of a workload that keeps running have a deadline.
//
// activeDeadlineSeconds of a pod kills it after that time. Only Jobs can do
// with that; they have a deadline of their own besides.
func init() {
	register(policies.Rule{
		ID:              "template-deadline",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"},
		Summary:         "activeDeadlineSeconds in the pods of a workload that keeps running",
		Harm:            "the API server refuses the object: its pods would be killed over and over",
		Fix:             "remove activeDeadlineSeconds; for work that ends use a Job",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			if d := t.Spec.ActiveDeadlineSeconds; d != nil {
				p.Report(t.At("spec", "activeDeadlineSeconds"), *d, "activeDeadlineSeconds is "+printed(*d)+"; the pods of a "+p.Kind+" are kept running: remove it")
			}
		}),
	})
}
