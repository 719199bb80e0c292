package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-ttl: nothing deletes a finished Job, or it is deleted the moment it ends.
//
// The owner of a Job, such as a CronJob, deletes its Jobs.
func init() {
	register(policies.Rule{
		ID:      "job-ttl",
		Level:   finding.Strict,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job"},
		Summary: "ttlSecondsAfterFinished is not set, or 0",
		Harm:    "without it, finished Jobs and their pods pile up; with 0, a failed Job and its logs are deleted before anyone can look",
		Fix:     "write `ttlSecondsAfterFinished: 86400`, a day, or how many seconds a finished Job is kept",
		Check: on(func(p *policies.Pass, job *batchv1.Job) {
			path := field.NewPath("spec", "ttlSecondsAfterFinished")
			switch ttl := job.Spec.TTLSecondsAfterFinished; {
			case ttl == nil && metav1.GetControllerOfNoCopy(job) == nil:
				p.Report(path, nil, "ttlSecondsAfterFinished is not set; finished Jobs pile up: write how many seconds one is kept, such as 86400 for a day")
			case ttl != nil && *ttl == 0:
				p.Report(path, *ttl, "ttlSecondsAfterFinished is 0; a failed Job and its logs are deleted before anyone can look: write how many seconds it is kept, such as 86400 for a day")
			}
		}),
	})
}
