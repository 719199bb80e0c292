package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// etcd-size: a cluster of no member, or of more than seven.
//
// Above seven every member more makes writes slower, and few tolerate more
// failures than seven do.
func init() {
	register(policies.Rule{
		ID:              "etcd-size",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"EtcdCluster"},
		Summary:         "size is not 1 to 7",
		Harm:            "the API server refuses the object",
		Fix:             "write 1, 3, 5 or 7",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if n := c.Spec.Size; n < 1 || n > 7 {
				p.Report(field.NewPath("spec", "size"), n, "size is "+printed(n)+"; a cluster has 1 to 7 members: write 3, which tolerates the failure of one")
			}
		}),
	})
}
