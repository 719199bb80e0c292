package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-deadline-zero: activeDeadlineSeconds is 0. The Job fails with
// DeadlineExceeded as soon as it starts.
func init() {
	register(policies.Rule{
		ID:      "job-deadline-zero",
		Level:   finding.Invariant,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "A Job's activeDeadlineSeconds is 0",
		Harm:    "the Job fails with DeadlineExceeded as soon as it starts",
		Fix:     "write `activeDeadlineSeconds: 900`, or the longest time that the Job may take, or remove the field",
		Servers: policies.Tested(),
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if d := job.ActiveDeadlineSeconds; d != nil && *d == 0 {
				p.Report(path.Child("activeDeadlineSeconds"), *d, "activeDeadlineSeconds is 0; the Job fails as soon as it starts: write the longest time that it may take, in seconds")
			}
		}),
	})
}
