package rules

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
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
		Fix:     "give each workload a label of its own in selector and template",
		Check: func(p *policies.Pass) {
			mine := podSelector(p.Typed)
			if emptySelector(mine) || len(p.Templates) == 0 || metav1.GetControllerOfNoCopy(p.Meta) != nil {
				return
			}
			var names []string
			more := 0
			for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
				found, _ := p.List(kind)
				for _, o := range found {
					if o.Kind == p.Kind && o.Meta.Name == p.Meta.Name || len(o.Templates) == 0 || !matches(mine, o.Templates[0].Meta.Labels) {
						continue
					}
					if len(names) == 3 {
						more++
						continue
					}
					names = append(names, o.Kind+" "+o.Meta.Name)
				}
			}
			if len(names) == 0 {
				return
			}
			others := strings.Join(names, ", ")
			if more > 0 {
				others += " and " + strconv.Itoa(more) + " more"
			}
			p.Report(field.NewPath("spec", "selector"), written(mine), "selector is "+written(mine)+", which matches the pods of "+others+" too: add a label of its own")
		},
	})
}
