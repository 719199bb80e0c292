package rules

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-uneven-step: a step does not divide its field, so the last gap of
// each hour, day, month or year is shorter.
func init() {
	register(policies.Rule{
		ID:      "cronjob-uneven-step",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "A step of the schedule does not divide its field evenly",
		Harm:    "*/45 runs at :00 and :45, with alternating gaps of 45 and 15 minutes",
		Fix:     "write a step that divides the field, such as `*/30`, list the times, as in `0,45`, or use `@every 45m`",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			s := p.Schedule
			if s == nil {
				return
			}
			if uneven, ok := s.Uneven(); ok {
				p.Report(field.NewPath("spec", "schedule"), c.Spec.Schedule, "schedule is "+strconv.Quote(c.Spec.Schedule)+", whose "+uneven.String()+": write a step that divides the field, or list the times")
			}
		}),
	})
}
