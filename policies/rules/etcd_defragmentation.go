package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// etcd-defragmentation: the schedule of defragmentations cannot be parsed.
//
// The API server accepts any text. The controller reports it in the condition
// SpaceStalled.
func init() {
	register(policies.Rule{
		ID:      "etcd-defragmentation",
		Level:   finding.Invariant,
		Since:   release.V(0, 2),
		Kinds:   []string{"EtcdCluster"},
		Summary: "The schedule of an etcd cluster's defragmentations, or its time zone, is invalid",
		Harm:    "usher defragments no member on a schedule",
		Fix:     "write five fields such as `schedule: 0 3 * * 0`, and a name from the IANA time zone database such as `timeZone: Europe/Berlin`",
		Check: on(func(p *policies.Pass, c *v1beta2.EtcdCluster) {
			if c.Spec.Space == nil || c.Spec.Space.Defragmentation == nil {
				return
			}
			if d := c.Spec.Space.Defragmentation; d.Schedule != "" {
				checkCron(p, field.NewPath("spec", "space", "defragmentation"), d.Schedule, d.TimeZone)
			}
		}),
	})
}
