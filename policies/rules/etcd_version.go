package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcd-version: a version that is none.
//
// Versions are those that etcd released: three numbers, with or without a v.
func init() {
	register(policies.Rule{
		ID:              "etcd-version",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"EtcdCluster"},
		Summary:         "version is no released version of etcd",
		Harm:            "the API server refuses the object",
		Fix:             "write three numbers, such as 3.6.16",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if v := c.Spec.Version; v != "" {
				if _, err := etcd.ParseVersion(v); err != nil {
					p.Report(field.NewPath("spec", "version"), v, "version is "+quoted(v)+", which is no released version of etcd: write three numbers, such as "+etcd.DefaultVersion)
				}
			}
		}),
	})
}
