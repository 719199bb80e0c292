package rules

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// restore-running: a restore into a working cluster without consent to replace
// it.
//
// If EtcdClusters are not visible the rule finds nothing: the controller checks
// again before it changes anything.
func init() {
	register(policies.Rule{
		ID:      "restore-running",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdRestore"},
		Summary: "An EtcdRestore would replace a working cluster",
		Harm:    "everything written since the backup would be lost",
		Fix:     "restore into a new EtcdCluster, or write the annotation `" + wellknown.AnnotationEtcdReplaceRunning + ": \"true\"`",
		Check: on(func(p *policies.Pass, r *v1beta2.EtcdRestore) {
			if p.Update || r.Annotations[wellknown.AnnotationEtcdReplaceRunning] == "true" {
				return
			}
			found, _ := p.List("EtcdCluster")
			i := slices.IndexFunc(found, func(o *policies.Object) bool { return p.Ended() || o.Meta.Name == r.Spec.EtcdCluster.Name })
			if i < 0 {
				return
			}
			c, ok := found[i].Typed.(*v1beta2.EtcdCluster)
			if !ok || c.Status.ClusterID == "" {
				return
			}
			if available := c.Status.Condition(v1beta2.ClusterAvailable); available != nil && available.Status == corev1.ConditionTrue {
				p.Report(field.NewPath("spec", "etcdCluster", "name"), c.Name, "name is "+c.Name+", a working cluster: restore into a new one, or write the annotation "+wellknown.AnnotationEtcdReplaceRunning+`: "true" to discard everything written to it since the backup`)
			}
		}),
	})
}
