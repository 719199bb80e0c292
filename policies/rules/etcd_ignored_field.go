package rules

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-ignored-field: a field that is set and has no effect.
//
// usher has no init container that waits for DNS: members resolve each other
// when they need to.
func init() {
	register(policies.Rule{
		ID:      "etcd-ignored-field",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "A field that has no effect is set",
		Harm:    "the setting is ignored",
		Fix:     "remove the field that the finding names",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			for _, name := range etcd.IgnoredFields(&c.Spec) {
				path := field.NewPath("spec", "pod", strings.TrimPrefix(name, "spec.pod."))
				why := "no init container waits for DNS"
				if strings.HasSuffix(name, ".antiAffinity") {
					why = "affinity is set and takes precedence"
				}
				p.Report(path, nil, subject(path)+" is set and has no effect, because "+why+": remove it")
			}
		}),
	})
}
