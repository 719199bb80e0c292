package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-reserved-env: an environment variable or annotation is reserved for the
// controller.
//
// etcd refuses to start if a variable contradicts a flag, and the controller
// forms the cluster with flags.
func init() {
	register(policies.Rule{
		ID:      "etcd-reserved-env",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "pod.etcdEnv or pod.annotations sets what the controller sets",
		Harm:    "etcd does not start if a variable and a flag configure the same setting",
		Fix:     "remove the variable or annotation that the finding names",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil {
				return
			}
			path := field.NewPath("spec", "pod")
			for i, e := range c.Spec.Pod.EtcdEnv {
				switch {
				case etcd.ReservedVariable(e.Name):
					p.Report(path.Child("etcdEnv").Index(i).Child("name"), e.Name, "name is "+e.Name+", which the controller sets by a flag; etcd does not start with both: remove the variable")
				case etcd.IgnoredVariable(&c.Spec, e.Name):
					p.Report(path.Child("etcdEnv").Index(i).Child("name"), e.Name, "name is "+e.Name+", and spec.pod.etcdArgs sets the same; etcd does not start with both: remove the variable")
				}
			}
			if value, ok := c.Spec.Pod.Annotations[wellknown.AnnotationEtcdVersion]; ok {
				p.Report(path.Child("annotations").Key(wellknown.AnnotationEtcdVersion), value, wellknown.AnnotationEtcdVersion+" is the controller's record of what the pod runs: remove it")
			}
		}),
	})
}
