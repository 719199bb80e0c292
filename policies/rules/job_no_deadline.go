package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-no-deadline: activeDeadlineSeconds is not set. Failures are limited by
// backoffLimit; a pod that hangs is not limited by anything.
func init() {
	register(policies.Rule{
		ID:      "job-no-deadline",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "A Job has no deadline",
		Harm:    "a pod that hangs keeps the Job, and what waits for it, for ever",
		Fix:     "write activeDeadlineSeconds: the longest the Job may take",
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.ActiveDeadlineSeconds == nil {
				p.Report(path.Child("activeDeadlineSeconds"), nil, "activeDeadlineSeconds is not set; a pod that hangs keeps the Job for ever: write the longest it may take")
			}
		}),
	})
}
