package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-pfp-never: a pod failure policy beside restartPolicy OnFailure.
//
// The policy judges pods that have failed. With OnFailure the kubelet restarts
// the container instead, and the pod never fails.
func init() {
	register(policies.Rule{
		ID:              "job-pfp-never",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "podFailurePolicy with a restartPolicy other than Never",
		Harm:            "the API server refuses the object: pods that restart in place do not fail, so there is nothing to judge",
		Fix:             "write restartPolicy: Never, or remove podFailurePolicy",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.PodFailurePolicy != nil && job.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
				p.Report(path.Child("template", "spec", "restartPolicy"), corev1.RestartPolicyOnFailure,
					"restartPolicy is OnFailure, but podFailurePolicy judges failed pods: write Never, or remove podFailurePolicy")
			}
		}),
	})
}
