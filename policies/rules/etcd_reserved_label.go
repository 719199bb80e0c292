package rules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// etcd-reserved-label: a pod label that is the controller's own.
//
// By app and the labels that begin with etcd_ members are found; another value
// would lose them.
func init() {
	register(policies.Rule{
		ID:              "etcd-reserved-label",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"EtcdCluster"},
		Summary:         "pod.labels has app, or a key that begins with etcd_",
		Harm:            "the API server refuses the object",
		Fix:             "write another key",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Pod == nil {
				return
			}
			path := field.NewPath("spec", "pod", "labels")
			for _, key := range slices.Sorted(maps.Keys(c.Spec.Pod.Labels)) {
				if key == "app" || strings.HasPrefix(key, "etcd_") {
					p.Report(path.Key(key), c.Spec.Pod.Labels[key], subject(path.Key(key), "")+" is a label by which members are found: write another key")
				}
			}
		}),
	})
}
