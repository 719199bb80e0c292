package rules

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// shortPeriod is the period below which usher expects a Job without a deadline
// to be still running when the next one is due.
const shortPeriod = 10 * time.Minute

// cronjob-replace-starve: each run replaces the previous one, and may take
// longer than the period.
//
// A deadline longer than the period shows that it may. Without a deadline usher
// assumes so if runs are less than ten minutes apart.
func init() {
	register(policies.Rule{
		ID:      "cronjob-replace-starve",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "concurrencyPolicy is Replace, and a Job may run longer than the period",
		Harm:    "a Job that takes longer than the period is killed by its successor each time: none ever completes",
		Fix:     "write `concurrencyPolicy: Forbid`, and in the Job template `activeDeadlineSeconds: 900`, or a deadline below the period with `backoffLimit: 1`, or a longer period",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if c.Spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
				return
			}
			s := p.Schedule
			if s == nil {
				return
			}
			period := s.ShortestInterval()
			switch deadline := p.Job.ActiveDeadlineSeconds; {
			case deadline == nil && period < shortPeriod:
				p.Report(concurrency(), c.Spec.ConcurrencyPolicy, "concurrencyPolicy is Replace, runs are "+period.String()+" apart and activeDeadlineSeconds is not set; a Job that takes longer is killed each time: write a deadline below the period and a backoffLimit that fits, or Forbid and a deadline")
			case deadline != nil && time.Duration(*deadline)*time.Second > period:
				p.Report(concurrency(), c.Spec.ConcurrencyPolicy, "concurrencyPolicy is Replace, runs are "+period.String()+" apart and activeDeadlineSeconds is "+printed(*deadline)+"; a Job that takes longer than the period is killed each time: write a deadline below it and a backoffLimit that fits, or Forbid and a deadline")
			}
		}),
	})
}
