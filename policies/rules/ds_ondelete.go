package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// ds-ondelete: a DaemonSet's pods are updated only when somebody deletes them.
func init() {
	register(policies.Rule{
		ID:      "ds-ondelete",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"DaemonSet"},
		Summary: "A DaemonSet's update strategy is OnDelete",
		Harm:    "updates never roll out by themselves; old versions keep running with their vulnerabilities",
		Fix:     "write `updateStrategy: {type: RollingUpdate}`",
		Check: on(func(p *policies.Pass, d *appsv1.DaemonSet) {
			if t := d.Spec.UpdateStrategy.Type; t == appsv1.OnDeleteDaemonSetStrategyType {
				p.Report(field.NewPath("spec", "updateStrategy", "type"), t, "type is OnDelete; an update reaches a node only once somebody deletes its pod: write RollingUpdate")
			}
		}),
	})
}
