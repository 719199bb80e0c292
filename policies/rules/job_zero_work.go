package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-zero-work: completions is 0, so that the Job is done before it begins, or
// parallelism is 0, so that it never begins. suspend is the way to hold a Job
// back.
func init() {
	register(policies.Rule{
		ID:      "job-zero-work",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "parallelism or completions is 0",
		Harm:    "no pod runs: with completions: 0 the Job completes at once, with parallelism: 0 it never starts",
		Fix:     "write 1 or more, such as `parallelism: 1`; to hold a Job back, write `suspend: true`",
		Servers: policies.Tested(),
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.Completions != nil && *job.Completions == 0 {
				p.Report(path.Child("completions"), 0, "completions is 0; the Job is complete before any pod runs: write 1 or more")
			}
			if job.Parallelism != nil && *job.Parallelism == 0 {
				p.Report(path.Child("parallelism"), 0, "parallelism is 0; no pod ever runs: write 1 or more, or suspend: true to hold the Job back")
			}
		}),
	})
}
