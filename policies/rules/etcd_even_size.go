package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-even-size: a cluster with an even number of members.
//
// A majority must agree: 4 members tolerate one failure like 3, and one more
// member can fail.
func init() {
	register(policies.Rule{
		ID:      "etcd-even-size",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "size is even",
		Harm:    "it tolerates no more failures than with one member less, and one more member can fail",
		Fix:     "write `size: 3`, or 1, 5 or 7",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if n := c.Spec.Size; n > 0 && n <= 7 && n%2 == 0 {
				tolerated := n - etcd.Quorum(n)
				p.Report(field.NewPath("spec", "size"), n, "size is "+printed(n)+", which tolerates no more failures ("+printed(tolerated)+") than "+printed(n-1)+", and one more member can fail: write "+printed(n-1)+" or "+printed(n+1))
			}
		}),
	})
}
