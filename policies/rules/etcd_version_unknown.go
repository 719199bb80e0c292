package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-version-unknown: a patch later than those that usher knows.
//
// It may have been released after this release of usher, or be a typing error
// without an image.
func init() {
	register(policies.Rule{
		ID:      "etcd-version-unknown",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Kinds:   []string{"EtcdCluster"},
		Summary: "version is newer than those that usher knows",
		Harm:    "if that version has no image, the first upgraded member does not start, and the upgrade stops",
		Fix:     "write the newest patch that usher knows, such as `version: 3.6.16`, or exempt the object if an image of the version exists",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			v, err := etcd.ParseVersion(c.Spec.Version)
			if err == nil && v.Supported() && !v.Known() {
				p.Report(field.NewPath("spec", "version"), c.Spec.Version,
					"version is "+v.String()+", which is newer than the versions that usher knows: write "+v.Nearest().String()+", or check that it has an image")
			}
		}),
	})
}
