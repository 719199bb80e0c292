package policies

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cronjob-forbid-hang: runs may not overlap, and none has a deadline. One Job
// that hangs then keeps every later one from starting, for ever.
func init() {
	register(Rule{
		ID:      "cronjob-forbid-hang",
		Level:   Baseline,
		Kinds:   []string{"CronJob"},
		Summary: "concurrencyPolicy is Forbid, and the Jobs have no deadline",
		Harm:    "one hung Job blocks all later ones until somebody deletes it",
		Fix:     "write activeDeadlineSeconds into the Job template: the longest a run may take",
		Check: on(func(p *Pass, c *batchv1.CronJob) {
			if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && p.Job.ActiveDeadlineSeconds == nil {
				p.Report(p.JobPath.Child("activeDeadlineSeconds"), nil, "activeDeadlineSeconds is not set and concurrencyPolicy is Forbid; one hung Job would block all later ones: write the longest a run may take")
			}
		}),
	})
}

// concurrency is the path of a CronJob's concurrencyPolicy.
func concurrency() *field.Path { return field.NewPath("spec", "concurrencyPolicy") }
