package rules

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-ttl-history: a TTL in the Job template removes finished Jobs before
// the CronJob's history limits would.
//
// The limits, by default 3 successful Jobs and 1 failed one, keep the latest
// Jobs for that many periods. A shorter TTL keeps fewer than they promise, in
// particular the failed Job.
func init() {
	register(policies.Rule{
		ID:      "cronjob-ttl-history",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "ttlSecondsAfterFinished is too short for the history limits to take effect",
		Harm:    "finished Jobs, including failed ones with their logs, are deleted before the history limits apply",
		Fix:     "remove `ttlSecondsAfterFinished` from the Job template; the history limits delete old Jobs",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			ttl := p.Job.TTLSecondsAfterFinished
			if ttl == nil || *ttl < 0 {
				return
			}
			s := p.Schedule
			if s == nil {
				return
			}
			for _, h := range []struct {
				name  string
				limit int32
			}{
				{"failedJobsHistoryLimit", value(c.Spec.FailedJobsHistoryLimit, 1)},
				{"successfulJobsHistoryLimit", value(c.Spec.SuccessfulJobsHistoryLimit, 3)},
			} {
				if time.Duration(*ttl)*time.Second < time.Duration(h.limit)*s.ShortestInterval() {
					p.Report(p.JobPath.Child("ttlSecondsAfterFinished"), *ttl, "ttlSecondsAfterFinished is "+printed(*ttl)+", which removes Jobs that "+h.name+" of "+printed(h.limit)+" would keep: remove it")
					return
				}
			}
		}),
	})
}

// value returns the value of a field, or its default.
func value[T any](field *T, otherwise T) T {
	if field == nil {
		return otherwise
	}
	return *field
}
