package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-ttl: a Job that nothing cleans up, or that is removed the moment it ends.
//
// Jobs that a CronJob or another controller makes are cleaned up by it.
func init() {
	register(policies.Rule{
		ID:      "job-ttl",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job"},
		Summary: "ttlSecondsAfterFinished is not set, or 0",
		Harm:    "without it finished Jobs and their pods pile up; with 0 a failed Job and its logs are gone before anyone looks",
		Fix:     "write how long a finished Job is kept, 86400 for a day",
		Check: on(func(p *policies.Pass, job *batchv1.Job) {
			path := field.NewPath("spec", "ttlSecondsAfterFinished")
			switch ttl := job.Spec.TTLSecondsAfterFinished; {
			case ttl == nil && metav1.GetControllerOfNoCopy(job) == nil:
				p.Report(path, nil, "ttlSecondsAfterFinished is not set; finished Jobs pile up: write how long one is kept, 86400 for a day")
			case ttl != nil && *ttl == 0:
				p.Report(path, *ttl, "ttlSecondsAfterFinished is 0; a failed Job is gone with its logs before anyone looks: write how long it is kept, 86400 for a day")
			}
		}),
	})
}
