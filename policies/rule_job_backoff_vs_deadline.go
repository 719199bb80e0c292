package policies

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// job-backoff-vs-deadline: the deadline ends the Job before the retries that
// backoffLimit asks for can happen.
//
// The controller waits 10 s before the first retry, then 20, 40 and so on, up
// to 10 minutes: six retries take 10 min 30 s of waiting alone. A backoffLimit
// that nobody wrote is no finding.
func init() {
	register(Rule{
		ID:      "job-backoff-vs-deadline",
		Level:   Baseline,
		Kinds:   []string{"Job", "CronJob"},
		Summary: "activeDeadlineSeconds is shorter than the waits between the retries",
		Harm:    "the Job ends with DeadlineExceeded before its last retries, which never happen",
		Fix:     "write a longer deadline or a lower backoffLimit",
		Check: onJobs(func(p *Pass, job *batchv1.JobSpec, path *field.Path) {
			deadline, retries := job.ActiveDeadlineSeconds, job.BackoffLimit
			if deadline == nil || *deadline <= 0 || retries == nil || *retries <= 0 {
				return
			}
			if waits, fit := retryWaits(*retries, *deadline); fit < *retries {
				p.Report(path.Child("activeDeadlineSeconds"), *deadline, "activeDeadlineSeconds is "+printed(*deadline)+", but the waits before "+printed(*retries)+" retries (backoffLimit) take "+printed(waits)+" s; "+printed(fit)+" fit: write a longer deadline or a lower backoffLimit")
			}
		}),
	})
}

// retryWaits adds up the waits before n retries, and counts the retries whose
// waits fit into the deadline.
func retryWaits(n int32, deadline int64) (total int64, fit int32) {
	const first, most = 10, 600
	wait := int64(first)
	for i := int32(0); i < n; i++ {
		if wait >= most { // all the others are alike
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
