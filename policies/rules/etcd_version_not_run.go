package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcd-version-not-run: a version that usher does not run.
//
// Members are added as learners, which etcd has reliably since 3.5, and nobody
// maintains what is older; of versions newer than usher it is not known what
// leads to them. Manifests of old are taken as they are all the same.
func init() {
	register(policies.Rule{
		ID:      "etcd-version-not-run",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "version is none that usher runs",
		Harm:    "no member is made: the cluster has the condition UnsupportedVersion until its version is one that is run",
		Fix:     "write the nearest version that is run",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			v, err := etcd.ParseVersion(c.Spec.Version)
			if err == nil && !v.Supported() {
				p.Report(field.NewPath("spec", "version"), c.Spec.Version, "version is "+v.String()+", which is not run: write "+v.Nearest().String())
			}
		}),
	})
}
