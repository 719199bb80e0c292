package rules

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-dom-dow: both the day of the month and the day of the week are
// restricted. The Job then runs when either matches: 0 0 13 * 5 is every 13th
// and every Friday, not Friday the 13th.
func init() {
	register(policies.Rule{
		ID:      "cronjob-dom-dow",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "The schedule restricts both the day of the month and the day of the week",
		Harm:    "it runs when either matches, more often than most readers expect",
		Fix:     "write `*` for one of the two, as in `0 3 * * 1`, and let the Job check the other",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if s := p.Schedule; s != nil && s.EitherDay() {
				p.Report(field.NewPath("spec", "schedule"), c.Spec.Schedule, "schedule is "+strconv.Quote(c.Spec.Schedule)+", which runs when the day of the month or the day of the week matches, not when both do: write * for one of them")
			}
		}),
	})
}
