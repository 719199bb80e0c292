package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-no-claim: the data of a cluster is deleted with its pods.
//
// Without a claim a member that loses its pod is replaced by another, which has
// to copy all data from the others; if a majority lose their pods at once, as
// in an outage of their nodes, the data is lost.
func init() {
	register(policies.Rule{
		ID:      "etcd-no-claim",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "pod.persistentVolumeClaimSpec is not set",
		Harm:    "the data is lost when more than half of the pods are deleted at once",
		Fix:     "write `pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}}`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil || c.Spec.Pod.PersistentVolumeClaimSpec == nil {
				p.Report(field.NewPath("spec", "pod", "persistentVolumeClaimSpec"), nil, "persistentVolumeClaimSpec is not set; the data is lost when more than half of the pods are deleted: write accessModes and resources.requests.storage")
			}
		}),
	})
}
