package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-claim: usher could not create the claims.
//
// The API server validates a claim only when usher creates it for a member.
func init() {
	register(policies.Rule{
		ID:      "etcd-claim",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "pod.persistentVolumeClaimSpec lacks its access modes or its size",
		Harm:    "usher cannot create the claims, and so no members",
		Fix:     "write `accessModes: [ReadWriteOnce]` and `resources: {requests: {storage: 8Gi}}`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil || c.Spec.Pod.PersistentVolumeClaimSpec == nil {
				return
			}
			claim, path := c.Spec.Pod.PersistentVolumeClaimSpec, field.NewPath("spec", "pod", "persistentVolumeClaimSpec")
			if len(claim.AccessModes) == 0 {
				p.Report(path.Child("accessModes"), nil, "accessModes is not set: write [ReadWriteOnce]")
			}
			storage := path.Child("resources", "requests").Key("storage")
			switch size, ok := claim.Resources.Requests[corev1.ResourceStorage]; {
			case !ok:
				p.Report(storage, nil, "storage is not set: write the size of each member's volume, such as 8Gi")
			case size.Sign() <= 0:
				p.Report(storage, size.String(), "storage is "+size.String()+": write the size of each member's volume, such as 8Gi")
			}
		}),
	})
}
