package rules

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// cronjob-selector: a CronJob's Job template carries a selector.
//
// Each Job the CronJob makes gets a selector of its own; one in the template
// would be the same for all, so that each adopted the pods of the others.
func init() {
	register(policies.Rule{
		ID:              "cronjob-selector",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"CronJob"},
		Summary:         "A CronJob's Job template sets selector or manualSelector",
		Harm:            "the API server refuses the object: all its Jobs would select the same pods",
		Fix:             "remove selector and manualSelector; every Job gets its own",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			path := field.NewPath("spec", "jobTemplate", "spec")
			if s := c.Spec.JobTemplate.Spec.Selector; s != nil {
				p.Report(path.Child("selector"), s, "selector is set; every Job of a CronJob gets its own: remove it")
			}
			if m := c.Spec.JobTemplate.Spec.ManualSelector; m != nil && *m {
				p.Report(path.Child("manualSelector"), true, "manualSelector is true; every Job of a CronJob gets its own selector: remove it")
			}
		}),
	})
}
