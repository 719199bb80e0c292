package rules

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-impossible: the schedule can be parsed, but names a day that never
// comes, such as the 31st of February.
func init() {
	register(policies.Rule{
		ID:      "cronjob-impossible",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "The schedule names a day that never comes",
		Harm:    "the CronJob never runs; at most, the controller reports an InvalidSchedule event",
		Fix:     "write a day that the month has, such as `0 3 28 2 *`",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if s := p.Schedule; s != nil && !s.Possible() {
				p.Report(field.NewPath("spec", "schedule"), c.Spec.Schedule, "schedule is "+strconv.Quote(c.Spec.Schedule)+", which never comes: write a day that the month has")
			}
		}),
	})
}
