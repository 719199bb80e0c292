package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// cronjob-no-deadline: startingDeadlineSeconds is not set.
//
// After an outage the controller then starts the latest missed run however late
// it is, and above a hundred missed runs warns with TooManyMissedTimes. That a
// hundred missed runs stop a CronJob for good was true up to Kubernetes 1.20;
// since 1.21 the run is started all the same.
func init() {
	register(policies.Rule{
		ID:      "cronjob-no-deadline",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "startingDeadlineSeconds is not set",
		Harm:    "after an outage one run starts however late it is, and a frequent schedule floods the events with TooManyMissedTimes",
		Fix:     "write how late a run may still start, in seconds",
		Servers: "since 1.21; before, a hundred missed runs stopped the CronJob for good",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if c.Spec.StartingDeadlineSeconds == nil {
				p.Report(field.NewPath("spec", "startingDeadlineSeconds"), nil, "startingDeadlineSeconds is not set; after an outage one run starts however late it is: write how late it may be")
			}
		}),
	})
}
