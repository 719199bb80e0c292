package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// etcd-no-claim: a cluster whose data lives as long as its pods.
//
// Without a claim a member that loses its pod is replaced by another, which has
// to get all data from the rest; when more than half lose theirs at once, as in
// an outage of their nodes, the data is gone.
func init() {
	register(policies.Rule{
		ID:      "etcd-no-claim",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "pod.persistentVolumeClaimSpec is not set",
		Harm:    "when more than half of the pods are gone at once, so is the data",
		Fix:     "write pod.persistentVolumeClaimSpec",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil || c.Spec.Pod.PersistentVolumeClaimSpec == nil {
				p.Report(field.NewPath("spec", "pod", "persistentVolumeClaimSpec"), nil, "persistentVolumeClaimSpec is not set; the data is gone when more than half of the pods are: write accessModes and resources.requests.storage")
			}
		}),
	})
}
