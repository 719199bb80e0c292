package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-deadline-short: startingDeadlineSeconds is between 1 and 9.
//
// A controller that lags by a few seconds, during a leader change or under
// load, counts such a run as missed. The Kubernetes documentation warns of
// values below 10.
func init() {
	register(policies.Rule{
		ID:      "cronjob-deadline-short",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "startingDeadlineSeconds is below 10",
		Harm:    "runs are skipped whenever the controller lags by that much",
		Fix:     "write `startingDeadlineSeconds: 200`, or any number from 10",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if d := c.Spec.StartingDeadlineSeconds; d != nil && *d > 0 && *d < 10 {
				p.Report(field.NewPath("spec", "startingDeadlineSeconds"), *d, "startingDeadlineSeconds is "+printed(*d)+"; a controller that lags by that much skips the run: write 10 or more")
			}
		}),
	})
}
