package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-version-not-run: usher does not run the version.
//
// Members join as learners, which etcd supports reliably since 3.5, and earlier
// versions are no longer maintained; the upgrade paths to versions later than
// usher are unknown. The API server accepts old manifests nevertheless.
func init() {
	register(policies.Rule{
		ID:      "etcd-version-not-run",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "usher does not run this version",
		Harm:    "usher creates no members, and sets the condition UnsupportedVersion until the version is one that it runs",
		Fix:     "write the nearest version that usher runs, such as `version: 3.6.16`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			v, err := etcd.ParseVersion(c.Spec.Version)
			if err == nil && !v.Supported() {
				p.Report(field.NewPath("spec", "version"), c.Spec.Version, "version is "+v.String()+", which usher does not run: write "+v.Nearest().String())
			}
		}),
	})
}
