package rules

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// cronjob-schedule: the schedule cannot be parsed, or carries a time zone.
//
// Schedules have five fields, or are one of @hourly, @daily, @weekly, @monthly,
// @yearly and @every <duration>. A time zone inside was tolerated once; it
// belongs into timeZone. Schedules that had one before keep it on update.
func init() {
	register(policies.Rule{
		ID:              "cronjob-schedule",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"CronJob"},
		Summary:         "The schedule cannot be parsed, or carries a time zone",
		Harm:            "the API server refuses the object",
		Fix:             "write five fields (minute hour day-of-month month day-of-week) and the zone into timeZone",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			path := field.NewPath("spec", "schedule")
			text := c.Spec.Schedule
			if text == "" {
				p.Report(path, nil, "schedule is not set: write five fields, as in \"30 3 * * *\"")
				return
			}
			if strings.Contains(text, "TZ") && !p.Update {
				p.Report(path, text, "schedule is "+strconv.Quote(text)+", which carries a time zone: write that into timeZone")
			}
			if err := p.ScheduleErr; err != nil {
				p.Report(path, text, err.Error()+": write five fields, as in \"30 3 * * *\"")
			}
		}),
	})
}
