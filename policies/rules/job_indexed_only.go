package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-indexed-only: a field that speaks of indexes in a Job that has none.
func init() {
	register(policies.Rule{
		ID:              "job-indexed-only",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "backoffLimitPerIndex, maxFailedIndexes or successPolicy without Indexed completion",
		Harm:            "the API server refuses the object: there are no indexes to count",
		Fix:             "write completionMode: Indexed with completions, or remove the field",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			mode := batchv1.NonIndexedCompletion
			if job.CompletionMode != nil {
				mode = *job.CompletionMode
			}
			// A mode that does not exist is another finding; there the server
			// complains of the success policy alone.
			if mode == batchv1.NonIndexedCompletion {
				if v := job.BackoffLimitPerIndex; v != nil {
					p.Report(path.Child("backoffLimitPerIndex"), *v, needsIndexes("backoffLimitPerIndex is "+printed(*v)))
				}
				if v := job.MaxFailedIndexes; v != nil {
					p.Report(path.Child("maxFailedIndexes"), *v, needsIndexes("maxFailedIndexes is "+printed(*v)))
				}
			}
			if mode != batchv1.IndexedCompletion && job.SuccessPolicy != nil {
				p.Report(path.Child("successPolicy"), job.SuccessPolicy, needsIndexes("successPolicy is set"))
			}
		}),
	})
}

func needsIndexes(found string) string {
	return found + "; it counts indexes, which only an Indexed Job has: write completionMode: Indexed with completions, or remove it"
}
