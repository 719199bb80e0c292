package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// selector-overlap: the selector of one workload matches the pods of another.
//
// Owner references keep the two from adopting each other's pods while both
// exist, but either adopts orphans, and everything that selects by labels
// (Services, autoscalers, disruption budgets, kubectl) counts both. The rule
// ignores workloads that belong to another controller.
func init() {
	register(policies.Rule{
		ID:      "selector-overlap",
		Level:   finding.Baseline,
		Since:   release.V(0, 1),
		Kinds:   []string{"Deployment", "StatefulSet", "DaemonSet"},
		Lists:   []string{"Deployment", "StatefulSet", "DaemonSet"},
		Summary: "Two workloads select the same pods",
		Harm:    "either workload may adopt orphaned pods, and everything that counts by labels counts the pods of both",
		Fix:     "add a label of its own to the selector and the template of each workload, such as `app.kubernetes.io/instance: NAME`",
		Check: func(p *policies.Pass) {
			mine := podSelector(p.Typed)
			if emptySelector(mine) || len(p.Templates) == 0 || metav1.GetControllerOfNoCopy(p.Meta) != nil {
				return
			}
			selected := p.WorkloadsSelected(mine, namedOthers)
			found := others{selected.First, selected.Count}
			if found.count == 0 {
				return
			}
			selector := written(mine)
			said := "selector is " + selector + ", which matches the pods of "
			p.ReportNaming(field.NewPath("spec", "selector"), selector, said+found.String()+" too: add a label of its own",
				said+found.number("workload")+" too (kubectl get pods -l '"+selector+"' lists them): add a label of its own", selected.Partial)
		},
	})
}
