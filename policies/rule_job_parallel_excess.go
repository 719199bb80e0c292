package policies

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// job-parallel-excess: parallelism exceeds completions. The controller runs no
// more pods than completions are missing, so the rest of it is never used.
func init() {
	register(Rule{
		ID:      "job-parallel-excess",
		Level:   Baseline,
		Kinds:   []string{"Job", "CronJob"},
		Summary: "parallelism is greater than completions",
		Harm:    "it is capped in silence: the Job is never as parallel as it says",
		Fix:     "write parallelism up to completions",
		Check: onJobs(func(p *Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.Completions != nil && job.Parallelism != nil && *job.Completions > 0 && *job.Parallelism > *job.Completions {
				p.Report(path.Child("parallelism"), *job.Parallelism, "parallelism is "+printed(*job.Parallelism)+", but there are "+printed(*job.Completions)+" completions; no more pods run at once: write at most that")
			}
		}),
	})
}
