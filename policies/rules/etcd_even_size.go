package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcd-even-size: a cluster of an even number of members.
//
// More than half of them must agree: 4 tolerate one failure as 3 do, and there
// is one more that can fail.
func init() {
	register(policies.Rule{
		ID:      "etcd-even-size",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "size is even",
		Harm:    "it tolerates no more failures than one member less would, and one more can fail",
		Fix:     "write an odd size",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if n := c.Spec.Size; n > 0 && n <= 7 && n%2 == 0 {
				tolerated := n - etcd.Quorum(n)
				p.Report(field.NewPath("spec", "size"), n, "size is "+printed(n)+", which tolerates the failure of "+printed(tolerated)+" as "+printed(n-1)+" does, with one more to fail: write "+printed(n-1)+" or "+printed(n+1))
			}
		}),
	})
}
