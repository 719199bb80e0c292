package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// job-indexed-hostname: the name of an Indexed Job leaves no valid host name
// for its last pod.
//
// The pod of index i has the host name <job>-<i>, which must be a DNS label:
// at most 63 letters, digits and dashes, no dot.
func init() {
	register(policies.Rule{
		ID:              "job-indexed-hostname",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"Job"},
		Summary:         "An Indexed Job's name makes host names that are no DNS labels",
		Harm:            "the API server refuses the object: its pods could not be created",
		Fix:             "write a shorter name, without dots",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, job *batchv1.Job) {
			completions := completed(p, &job.Spec)
			if !indexed(&job.Spec) || completions == nil || *completions <= 0 || job.Name == "" {
				return
			}
			last := job.Name + "-" + printed(*completions-1)
			if len(validation.IsDNS1123Label(last)) > 0 {
				p.Report(field.NewPath("metadata", "name"), job.Name,
					"name is "+job.Name+", which makes the host name "+last+"; that is no DNS label: write a name without dots that leaves its pods at most 63 characters")
			}
		}),
	})
}
