package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-negative-field: a number of a Job that counts pods, failures or seconds
// is below zero.
func init() {
	register(policies.Rule{
		ID:              "job-negative-field",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "A count or a duration of a Job is negative",
		Harm:            "the API server refuses the object",
		Fix:             "write zero or more, or leave the field out for its default",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			negative(p, path, "parallelism", job.Parallelism)
			negative(p, path, "completions", job.Completions)
			negative(p, path, "backoffLimit", job.BackoffLimit)
			negative(p, path, "backoffLimitPerIndex", job.BackoffLimitPerIndex)
			negative(p, path, "maxFailedIndexes", job.MaxFailedIndexes)
			negative(p, path, "activeDeadlineSeconds", job.ActiveDeadlineSeconds)
			negative(p, path, "ttlSecondsAfterFinished", job.TTLSecondsAfterFinished)
		}),
	})
}

// negative reports a number that is set and below zero.
func negative[T int32 | int64](p *policies.Pass, path *field.Path, name string, value *T) {
	if value != nil && *value < 0 {
		p.Report(path.Child(name), *value, name+" is "+printed(*value)+": write zero or more")
	}
}
