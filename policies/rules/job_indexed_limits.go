package rules

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// What the API server allows Indexed Jobs.
const (
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000
	manyCompletions       = 100_000
	maxManyParallelism    = 10_000
	maxManyFailedIndexes  = 10_000
)

// job-indexed-limits: the counts of an Indexed Job exceed what the API server
// allows, or each other.
//
// The status of such a Job lists its indexes; the limits keep it small. With
// more than 100,000 completions and a backoff limit for each index the limits
// are a tenth, and maxFailedIndexes must be set.
func init() {
	register(policies.Rule{
		ID:              "job-indexed-limits",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "The counts of an Indexed Job exceed the server's limits, or each other",
		Harm:            "the API server refuses the object",
		Fix:             "keep parallelism and maxFailedIndexes within the limits, maxFailedIndexes within completions and beside backoffLimitPerIndex",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			failed := job.MaxFailedIndexes
			if failed != nil && job.BackoffLimitPerIndex == nil {
				p.Report(path.Child("backoffLimitPerIndex"), nil, "backoffLimitPerIndex is not set, but maxFailedIndexes is: write both")
			}
			if !indexed(job) {
				return
			}
			above(p, path, "parallelism", job.Parallelism, maxIndexedParallelism)
			above(p, path, "maxFailedIndexes", failed, maxFailedIndexes)
			completions := completed(p, job)
			if completions == nil {
				return
			}
			if failed != nil && *failed > *completions {
				p.Report(path.Child("maxFailedIndexes"), *failed, "maxFailedIndexes is "+printed(*failed)+", more than the "+printed(*completions)+" completions: write at most that")
			}
			if *completions <= manyCompletions || job.BackoffLimitPerIndex == nil {
				return
			}
			if failed == nil {
				p.Report(path.Child("maxFailedIndexes"), nil, "maxFailedIndexes is not set; with more than 100000 completions and backoffLimitPerIndex it must be: write at most 10000")
			} else if *failed <= maxFailedIndexes {
				above(p, path, "maxFailedIndexes", failed, maxManyFailedIndexes)
			}
			if job.Parallelism != nil && *job.Parallelism <= maxIndexedParallelism {
				above(p, path, "parallelism", job.Parallelism, maxManyParallelism)
			}
		}),
	})
}

// above reports a number that is set and exceeds a limit.
func above(p *policies.Pass, path *field.Path, name string, value *int32, limit int32) {
	if value != nil && *value > limit {
		p.Report(path.Child(name), *value, name+" is "+printed(*value)+": write at most "+strconv.Itoa(int(limit)))
	}
}
