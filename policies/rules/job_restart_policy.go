package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-restart-policy: the pods of a Job or CronJob have restartPolicy Always,
// or none, which the API server turns into Always before it looks.
//
// A Job is done when its pods have ended; pods that are always restarted never
// end. Never has a failed pod replaced by a new one, up to backoffLimit;
// OnFailure restarts its containers in place.
func init() {
	register(policies.Rule{
		ID:              "job-restart-policy",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "A Job's pods are restarted always, or restartPolicy is not set",
		Harm:            "the API server refuses the object: a Job whose pods are always restarted would never complete",
		Fix:             "write restartPolicy: Never (a failed pod stays for its logs, a new one is made) or OnFailure (containers restart in place)",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			policy := job.Template.Spec.RestartPolicy
			path = path.Child("template", "spec", "restartPolicy")
			switch policy {
			case corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
			case "":
				p.Report(path, nil, "restartPolicy is not set, which means Always; a Job's pods must be able to end: write Never or OnFailure")
			case corev1.RestartPolicyAlways:
				p.Report(path, policy, "restartPolicy is Always; a Job's pods must be able to end: write Never or OnFailure")
			default:
				p.Report(path, policy, "restartPolicy is "+string(policy)+", which does not exist: write Never or OnFailure")
			}
		}),
	})
}
