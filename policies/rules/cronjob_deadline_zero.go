package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-deadline-zero: startingDeadlineSeconds is 0.
//
// The controller looks for runs that were due in the last
// startingDeadlineSeconds. With 0 that is the present moment, in which no run
// is ever due: the CronJob never runs, and no event reports it.
func init() {
	register(policies.Rule{
		ID:      "cronjob-deadline-zero",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "startingDeadlineSeconds is 0",
		Harm:    "the CronJob never runs, and no event reports it",
		Fix:     "write `startingDeadlineSeconds: 200`, or how many seconds late a run may start, or remove the field",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if d := c.Spec.StartingDeadlineSeconds; d != nil && *d == 0 {
				p.Report(field.NewPath("spec", "startingDeadlineSeconds"), *d, "startingDeadlineSeconds is 0; no run can start within 0 seconds, so none ever starts: write 200, or remove the field")
			}
		}),
	})
}
