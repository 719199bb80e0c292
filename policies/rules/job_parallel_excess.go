package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-parallel-excess: parallelism exceeds completions. The controller never
// runs more pods than missing completions, so the rest is never used.
func init() {
	register(policies.Rule{
		ID:      "job-parallel-excess",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "parallelism is greater than completions",
		Harm:    "the Job controller caps it silently: the Job never runs that many pods at once",
		Fix:     "write a `parallelism` of at most `completions`",
		Servers: policies.Tested(),
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.Completions != nil && job.Parallelism != nil && *job.Completions > 0 && *job.Parallelism > *job.Completions {
				p.Report(path.Child("parallelism"), *job.Parallelism, "parallelism is "+printed(*job.Parallelism)+", but there are "+printed(*job.Completions)+" completions; no more pods run at once: write at most that")
			}
		}),
	})
}
