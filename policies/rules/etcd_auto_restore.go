package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-auto-restore: the consent to an automatic restore is neither given nor
// refused.
//
// An automatic restore discards what was written since the newest backup. usher
// requires exactly "true", and must not guess the meaning of a similar word.
func init() {
	register(policies.Rule{
		ID:      "etcd-auto-restore",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "The annotation " + wellknown.AnnotationEtcdAutoRestore + " is neither true nor false",
		Harm:    "usher does not restore the cluster automatically when it loses its majority",
		Fix:     "write `\"true\"` or `\"false\"`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			value, ok := c.Annotations[wellknown.AnnotationEtcdAutoRestore]
			if ok && value != "true" && value != "false" {
				p.Report(field.NewPath("metadata", "annotations").Key(wellknown.AnnotationEtcdAutoRestore), value,
					wellknown.AnnotationEtcdAutoRestore+" is "+quoted(value)+`: write "true" to have the cluster restored from its newest backup once its majority is lost for good, or "false"`)
			}
		}),
	})
}
