package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-pfp-replacement: pods are replaced before they have failed, though a pod
// failure policy has to see how they fail; or the replacement policy does not
// exist.
func init() {
	register(policies.Rule{
		ID:              "job-pfp-replacement",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job", "CronJob"},
		Summary:         "podReplacementPolicy is not Failed beside podFailurePolicy, or does not exist",
		Harm:            "the API server refuses the object: how a pod fails is known only when it has failed",
		Fix:             "write podReplacementPolicy: Failed, or leave it out",
		RefusedByServer: true,
		Check: onJobs(func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path) {
			if job.PodReplacementPolicy == nil {
				return
			}
			policy := *job.PodReplacementPolicy
			switch {
			case policy == batchv1.Failed:
			case job.PodFailurePolicy != nil:
				p.Report(path.Child("podReplacementPolicy"), policy, "podReplacementPolicy is "+string(policy)+", but podFailurePolicy has to see how pods fail: write Failed or leave it out")
			case policy != batchv1.TerminatingOrFailed:
				p.Report(path.Child("podReplacementPolicy"), policy, "podReplacementPolicy is "+string(policy)+", which does not exist: write Failed or TerminatingOrFailed")
			}
		}),
	})
}
