package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/etcd"
	"github.com/usher-dev/usher/release"
)

// etcd-reserved-env: an environment variable or annotation of the controller's own.
//
// etcd refuses to start where a variable says otherwise than a flag: those by
// which the cluster is formed are flags.
func init() {
	register(policies.Rule{
		ID:      "etcd-reserved-env",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"EtcdCluster"},
		Summary: "pod.etcdEnv or pod.annotations sets what the controller does",
		Harm:    "etcd does not start where a variable and a flag are about the same",
		Fix:     "remove it",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil {
				return
			}
			path := field.NewPath("spec", "pod")
			for i, e := range c.Spec.Pod.EtcdEnv {
				if etcd.ReservedVariable(e.Name) {
					p.Report(path.Child("etcdEnv").Index(i).Child("name"), e.Name, "name is "+e.Name+", which the controller sets by a flag; etcd does not start with both: remove it")
				}
			}
			if value, ok := c.Spec.Pod.Annotations[etcd.VersionAnnotation]; ok {
				p.Report(path.Child("annotations").Key(etcd.VersionAnnotation), value, etcd.VersionAnnotation+" is the controller's record of what the pod runs: remove it")
			}
		}),
	})
}
