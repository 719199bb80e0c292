package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-no-deadline: startingDeadlineSeconds is not set.
//
// After an outage the controller then starts the latest missed run no matter
// how late it is, and emits TooManyMissedTimes above a hundred missed runs. Up
// to Kubernetes 1.20 a hundred missed runs stopped a CronJob for good; since
// 1.21 the run starts anyway.
func init() {
	register(policies.Rule{
		ID:      "cronjob-no-deadline",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "startingDeadlineSeconds is not set",
		Harm:    "after an outage one run starts no matter how late it is, and a frequent schedule causes many TooManyMissedTimes events",
		Fix:     "write `startingDeadlineSeconds: 200`, or how many seconds late a run may start",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if c.Spec.StartingDeadlineSeconds == nil {
				p.Report(field.NewPath("spec", "startingDeadlineSeconds"), nil, "startingDeadlineSeconds is not set; after an outage one run starts no matter how late it is: write how many seconds late it may start, such as 200")
			}
		}),
	})
}
