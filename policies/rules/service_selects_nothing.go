package rules

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// service-selects-nothing: no pods among the files have the labels that a Service
// selects.
//
// The rule ignores selectors with labels that controllers may set, which no template
// shows, and in a folder selectors without a relation to the pods there.
func init() {
	register(policies.Rule{
		ID:       "service-selects-nothing",
		Level:    finding.Baseline,
		Since:    release.V(0, 2),
		Group:    "references",
		Together: true,
		Kinds:    []string{"Service"},
		Summary:  "A Service selects no pods",
		Harm:     "the Service has no endpoints, and connections to it are refused",
		Fix:      "write the labels of a pod template, such as `selector: {app: web}`",
		Check: on(func(p *policies.Pass, s *corev1.Service) {
			u, selector := p.Whole(), s.Spec.Selector
			if u == nil || len(selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName || !u.HasPods() && !meets(u, selector) || !writtenFor(u, selector) {
				return
			}
			by := labels.SelectorFromSet(selector)
			for range u.Selected(by, p.Meta.Namespace) {
				return
			}
			if u.SelectedElsewhere(by, p.Meta.Namespace) {
				return
			}
			p.Report(field.NewPath("spec", "selector"), by.String(), "selector is "+by.String()+", which selects no pods of the files"+nearLabel(u, selector)+": write the labels of a pod template")
		}),
	})
}
