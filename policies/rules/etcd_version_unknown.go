package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcd-version-unknown: a patch beyond those that usher knows.
//
// It may have been released since usher was, or be a typing error, for which
// there is no image.
func init() {
	register(policies.Rule{
		ID:      "etcd-version-unknown",
		Level:   finding.Baseline,
		Since:   release.V(0, 2),
		Kinds:   []string{"EtcdCluster"},
		Summary: "version is newer than those that usher knows",
		Harm:    "if no image of that version exists, the first member that is upgraded does not start, and the upgrade stops there",
		Fix:     "write the newest patch that usher knows, or exempt the object once you know that there is an image of the version",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			v, err := etcd.ParseVersion(c.Spec.Version)
			if err == nil && v.Supported() && !v.Known() {
				p.Report(field.NewPath("spec", "version"), c.Spec.Version,
					"version is "+v.String()+", which is newer than those that usher knows: write "+v.Nearest().String()+", or make sure that there is an image of it")
			}
		}),
	})
}
