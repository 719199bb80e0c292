package injector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// The API server evaluates the selectors of the webhooks' entries on the labels
// that an object has, and knows neither the record nor what the decision will
// add. Its entries therefore select more than one match says.

// WithoutAddedLabels returns a match without the requirements that a label of a template
// can end: such a label may not be the pod's own. It returns the match itself if
// there are none.
func (s *Set) WithoutAddedLabels(m *template.Match) *template.Match {
	if len(s.labelers) == 0 || m.PodSelector == nil {
		return m
	}
	ends := func(r metav1.LabelSelectorRequirement) bool {
		selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}})
		return err == nil && selector.Matches(labels.Set{}) && slices.ContainsFunc(s.labelers, func(t *template.Template) bool {
			return slices.ContainsFunc(t.Labels, func(p podjson.Pair) bool {
				return !selector.Matches(labels.Set{p.Key: p.Value}) || p.Key == r.Key && !t.FixedLabel(p.Key)
			})
		})
	}
	if !slices.ContainsFunc(m.PodSelector.MatchExpressions, ends) {
		return m
	}
	less := *m
	less.PodSelector = m.PodSelector.DeepCopy()
	less.PodSelector.MatchExpressions = slices.DeleteFunc(less.PodSelector.MatchExpressions, ends)
	return &less
}

// LeadsToMandatory reports whether a template is mandatory, or one of its labels
// may select a mandatory template, or one that leads to it. A pod that gets such a
// template while usher is down would lack the mandatory one.
func (s *Set) LeadsToMandatory(name string) bool {
	visited := map[string]bool{name: true}
	for reached := []string{name}; len(reached) > 0; reached = reached[1:] {
		if s.Mandatory(reached[0]) {
			return true
		}
		for _, t := range s.Matches() {
			if !visited[t.Name] && slices.ContainsFunc(s.Variants(reached[0]), func(from *template.Template) bool { return maySelect(t, from) }) {
				visited[t.Name] = true
				reached = append(reached, t.Name)
			}
		}
	}
	return false
}

// maySelect reports whether the match of a template requires the pod to have a label,
// and another template gives it such a label. A label with a parameter may have any
// value.
func maySelect(t, from *template.Template) bool {
	return slices.ContainsFunc(requirementsOf(t), func(r labels.Requirement) bool {
		return !r.Matches(labels.Set{}) && slices.ContainsFunc(from.Labels, func(p podjson.Pair) bool {
			return r.Key() == p.Key && (r.Matches(labels.Set{p.Key: p.Value}) || !from.FixedLabel(p.Key))
		})
	})
}
