package rules

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-allow-pileup: runs may overlap, are less than ten minutes apart, and
// have no deadline.
func init() {
	register(policies.Rule{
		ID:      "cronjob-allow-pileup",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "concurrencyPolicy is Allow, the period is short, and the Jobs have no deadline",
		Harm:    "when runs become slow they pile up until the namespace or the nodes are full",
		Fix:     "write `concurrencyPolicy: Forbid`, and in the Job template `activeDeadlineSeconds: 900`, or how long a run may take",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if policy := c.Spec.ConcurrencyPolicy; policy != "" && policy != batchv1.AllowConcurrent || p.Job.ActiveDeadlineSeconds != nil {
				return
			}
			s := p.Schedule
			if s == nil || s.ShortestInterval() >= shortPeriod {
				return
			}
			found := "concurrencyPolicy is Allow"
			if c.Spec.ConcurrencyPolicy == "" {
				found = "concurrencyPolicy is not set, which means Allow"
			}
			p.Report(concurrency(), string(c.Spec.ConcurrencyPolicy), found+", runs are "+s.ShortestInterval().String()+" apart and activeDeadlineSeconds is not set; slow runs would pile up: write Forbid and a deadline")
		}),
	})
}
