package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-indexed-completions: an Indexed Job does not say how many indexes it has.
//
// Each pod of an Indexed Job works on one index from 0 to completions-1, so
// completions cannot be left open.
func init() {
	register(policies.Rule{
		ID:              "job-indexed-completions",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "completionMode is Indexed without completions",
		Harm:            "the API server refuses the object: it cannot know how many indexes there are",
		Fix:             "write completions: the number of indexes",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if indexed(job) && completed(p, job) == nil {
				p.Report(path.Child("completions"), nil, "completions is not set; an Indexed Job needs the number of its indexes: write completions, 1 or more")
			}
		}),
	})
}

// completed is a Job's number of completions. Where a Job leaves parallelism
// open too, the server fills in 1 for both; in a CronJob it fills in nothing
// before a Job is made.
func completed(p *policies.Pass, job *batchv1.JobSpec) *int32 {
	if p.Kind == "Job" && job.Completions == nil && job.Parallelism == nil {
		one := int32(1)
		return &one
	}
	return job.Completions
}

// indexed reports whether a Job hands out indexes to its pods.
func indexed(job *batchv1.JobSpec) bool {
	return job.CompletionMode != nil && *job.CompletionMode == batchv1.IndexedCompletion
}
