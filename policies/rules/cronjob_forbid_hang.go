package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// cronjob-forbid-hang: runs may not overlap, and have no deadline. A Job that
// hangs then blocks every later one forever.
func init() {
	register(policies.Rule{
		ID:      "cronjob-forbid-hang",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"CronJob"},
		Summary: "concurrencyPolicy is Forbid, and the Jobs have no deadline",
		Harm:    "one hung Job blocks all later ones until somebody deletes it",
		Fix:     "write `activeDeadlineSeconds: 900` into the Job template, or the longest time that a run may take",
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && p.Job.ActiveDeadlineSeconds == nil {
				p.Report(p.JobPath.Child("activeDeadlineSeconds"), nil, "activeDeadlineSeconds is not set and concurrencyPolicy is Forbid; one hung Job would block all later ones: write the longest a run may take")
			}
		}),
	})
}

// concurrency is the path of a CronJob's concurrencyPolicy.
func concurrency() *field.Path { return field.NewPath("spec", "concurrencyPolicy") }
