package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-onfailure-backoff: containers restart in place and count against
// backoffLimit.
//
// At the limit the controller deletes the restarting pod, and with it the logs
// that explain the failure (kubernetes#74848). With Never the failed pods stay.
func init() {
	register(policies.Rule{
		ID:      "job-onfailure-backoff",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job", "CronJob"},
		Summary: "A Job's restartPolicy is OnFailure, so its last failure leaves no logs",
		Harm:    "when backoffLimit is reached the restarting pod is deleted, and its logs with it",
		Fix:     "write `restartPolicy: Never`, so that failed pods stay, or ship the logs elsewhere",
		Servers: policies.Tested(),
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
				p.Report(path.Child("template", "spec", "restartPolicy"), corev1.RestartPolicyOnFailure,
					"restartPolicy is OnFailure; after "+printed(value(job.BackoffLimit, 6))+" restarts (backoffLimit) the pod is deleted and its logs are lost: write Never")
			}
		}),
	})
}
