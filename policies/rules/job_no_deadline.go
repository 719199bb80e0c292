package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-no-deadline: activeDeadlineSeconds is not set. backoffLimit limits
// failures, but nothing limits a pod that hangs.
func init() {
	register(policies.Rule{
		ID:      "job-no-deadline",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "A Job has no deadline",
		Harm:    "a pod that hangs blocks the Job, and everything that waits for it, forever",
		Fix:     "write `activeDeadlineSeconds: 900`, or the longest time that the Job may take",
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.ActiveDeadlineSeconds == nil {
				p.Report(path.Child("activeDeadlineSeconds"), nil, "activeDeadlineSeconds is not set; a pod that hangs blocks the Job forever: write the longest time that it may take, in seconds")
			}
		}),
	})
}
