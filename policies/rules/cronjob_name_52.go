package rules

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// cronjob-name-52: the name of a new CronJob is longer than 52 characters.
//
// Its Jobs are called <name>-<minutes>, eleven characters more, and the names
// of Jobs end up in labels, which hold 63. CronJobs that exist are left alone.
func init() {
	register(policies.Rule{
		ID:              "cronjob-name-52",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Kinds:           []string{"CronJob"},
		Summary:         "The name of a new CronJob is longer than 52 characters",
		Harm:            "the API server refuses the object: its Jobs could not be named",
		Fix:             "write a name of at most 52 characters",
		RefusedByServer: true,
		Check: on(func(p *policies.Pass, c *batchv1.CronJob) {
			if n := len(c.Name); n > 52 && !p.Update {
				p.Report(field.NewPath("metadata", "name"), c.Name, "name is "+strconv.Itoa(n)+" characters long; its Jobs add 11 and may have 63: write at most 52")
			}
		}),
	})
}
