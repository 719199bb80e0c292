package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// deploy-history-zero: revisionHistoryLimit is 0. Old ReplicaSets are removed
// as soon as they are empty, so kubectl rollout undo has nothing to go back to;
// raising the limit later brings nothing back.
func init() {
	register(policies.Rule{
		ID:      "deploy-history-zero",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment"},
		Summary: "revisionHistoryLimit is 0",
		Harm:    "there is nothing to roll back to: kubectl rollout undo fails when it is needed",
		Fix:     "write 2 or more, or leave it out for 10",
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			if l := d.Spec.RevisionHistoryLimit; l != nil && *l == 0 {
				p.Report(field.NewPath("spec", "revisionHistoryLimit"), *l, "revisionHistoryLimit is 0; there is nothing to roll back to: write 2 or more, or leave it out for 10")
			}
		}),
	})
}
