package rules

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-backoff-vs-deadline: the deadline ends the Job before the retries that
// backoffLimit allows.
//
// The controller waits 10 s before the first retry, then 20, 40 and so on, up
// to 10 minutes: six retries take 10 min 30 s of waiting. In the cluster every
// Job has a backoffLimit, so the API server's default counts if it is not set.
// The API server does not set it in a CronJob, where v0.1 found nothing.
func init() {
	register(policies.Rule{
		ID:      "job-backoff-vs-deadline",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "activeDeadlineSeconds is shorter than the waits between the retries",
		Harm:    "the Job fails with DeadlineExceeded before its last retries",
		Fix:     "write a lower backoffLimit, such as `backoffLimit: 1`, or a longer activeDeadlineSeconds",
		Servers: policies.Tested(),
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if p.Kind == "Job" || job.BackoffLimit != nil {
				checkRetries(p, job, path)
			}
		}),
		Stricter: []policies.Change{{
			Since: release.V(0, 2),
			What:  "a CronJob that leaves backoffLimit to its Jobs' default",
			Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
				if p.Kind == "CronJob" && job.BackoffLimit == nil {
					checkRetries(p, job, path)
				}
			}),
		}},
	})
}

// checkRetries reports a deadline that ends the Job before its retries.
func checkRetries(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
	deadline, retries := job.ActiveDeadlineSeconds, backoffLimit(job)
	if deadline == nil || *deadline <= 0 || retries <= 0 {
		return
	}
	if waits, fit := retryWaits(retries, *deadline); fit < retries {
		p.Report(path.Child("activeDeadlineSeconds"), *deadline, "activeDeadlineSeconds is "+printed(*deadline)+", but the waits before "+printed(retries)+" retries (backoffLimit) take "+printed(waits)+" s; "+printed(fit)+" fit: write a longer deadline or a lower backoffLimit")
	}
}

// backoffLimit returns the Job's backoffLimit, or the API server's default.
func backoffLimit(job *batchv1.JobSpec) int32 {
	switch {
	case job.BackoffLimit != nil:
		return *job.BackoffLimit
	case job.BackoffLimitPerIndex != nil:
		return math.MaxInt32
	}
	return 6
}

// retryWaits adds up the waits before n retries, and counts the retries whose
// waits fit into the deadline.
func retryWaits(n int32, deadline int64) (total int64, fit int32) {
	const first, most = 10, 600
	wait := int64(first)
	for i := int32(0); i < n; i++ {
		if wait >= most { // all later waits are the same
			rest := int64(n - i)
			if total < deadline {
				fit += int32(min(rest, (deadline-1-total)/most))
			}
			return total + rest*most, fit
		}
		total += wait
		if total < deadline {
			fit++
		}
		wait *= 2
	}
	return total, fit
}
