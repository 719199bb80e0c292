package rules

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// deploy-history-zero: revisionHistoryLimit is 0. Old ReplicaSets are deleted
// as soon as they are empty, so kubectl rollout undo has no revision to return
// to; raising the limit later does not bring them back.
func init() {
	register(policies.Rule{
		ID:      "deploy-history-zero",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment"},
		Summary: "revisionHistoryLimit is 0",
		Harm:    "no old revision is kept: kubectl rollout undo fails when it is needed",
		Fix:     "write `revisionHistoryLimit: 2` or more, or remove the field for the default 10",
		Servers: policies.Tested(),
		Check: on(func(p *policies.Pass, d *appsv1.Deployment) {
			if l := d.Spec.RevisionHistoryLimit; l != nil && *l == 0 {
				p.Report(field.NewPath("spec", "revisionHistoryLimit"), *l, "revisionHistoryLimit is 0; no old revision is kept to roll back to: write 2 or more, or remove it for the default 10")
			}
		}),
	})
}
