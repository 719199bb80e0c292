package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// job-manual-selector: a Job's selector is written by hand. The Job adopts and
// counts matching pods of others, and deletes them with itself.
func init() {
	register(policies.Rule{
		ID:      "job-manual-selector",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Job"},
		Summary: "A Job's selector is written by hand",
		Harm:    "the Job adopts matching pods of others, counts them as its own, and deletes them with itself",
		Fix:     "remove `manualSelector` and `selector`; the API server generates a selector",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, job *batchv1.Job) {
			if value(job.Spec.ManualSelector, false) {
				p.Report(field.NewPath("spec", "manualSelector"), true, "manualSelector is true; pods of others that match "+written(job.Spec.Selector)+" would be adopted: remove it and the selector")
			}
		}),
	})
}
