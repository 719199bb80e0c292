package injector

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A Match is options.match: it selects pods that get the template without
// asking. An omitted field selects everything.
type Match struct {
	// NamespaceSelector selects namespaces, and PodSelector pods, by their labels.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	PodSelector       *metav1.LabelSelector `json:"podSelector,omitempty"`
	// Kinds are the kinds of the pods' controllers: Deployment for the ReplicaSets
	// of Deployments, and Pod for pods without a controller. If the template is
	// mandatory, Pod includes pods whose controller is not proved.
	Kinds []string `json:"kinds,omitempty"`

	namespaces, pods labels.Selector
}

var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// parse reads the selectors.
func (m *Match) parse(bad *InvalidTemplate) {
	const field = "data.options.match"
	if m.NamespaceSelector == nil && m.PodSelector == nil && len(m.Kinds) == 0 {
		bad.add(field, 0, "selects no pods; write namespaceSelector, podSelector or kinds, and namespaceSelector: {} for the pods of every namespace")
		return
	}
	read := func(name string, selector *metav1.LabelSelector) labels.Selector {
		if selector == nil {
			return labels.Everything()
		}
		read, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			bad.add(field+"."+name, 0, "%s", err)
			return labels.Nothing()
		}
		return read
	}
	m.namespaces, m.pods = read("namespaceSelector", m.NamespaceSelector), read("podSelector", m.PodSelector)
	for i, kind := range m.Kinds {
		at := fmt.Sprintf("%s.kinds[%d]", field, i)
		switch {
		case kind == kindCronJob:
			bad.add(at, 0, "is CronJob, whose pods belong to Jobs; write Job")
		case !kindPattern.MatchString(kind):
			bad.add(at, 0, "is %q; write the kind of a pod's controller, such as Deployment, or Pod for pods without one", kind)
		}
	}
}

// MayMatch reports whether a template's match may select pods of a namespace with
// these labels.
func (s *Set) MayMatch(namespaceLabels map[string]string) bool {
	return s != nil && slices.ContainsFunc(s.matches, func(t *Template) bool {
		return t.Options.Match.namespaces.Matches(labels.Set(namespaceLabels))
	})
}

// Matches lists the templates with a match, by name.
func (s *Set) Matches() []*Template {
	if s == nil {
		return nil
	}
	return s.matches
}

// PodSubject returns the Subject of an existing pod, from its metadata and the
// labels of its namespace.
func PodSubject(pod metav1.Object, namespaceLabels map[string]string) Subject {
	return Subject{NamespaceLabels: namespaceLabels, Labels: pod.GetLabels(), Kind: func() string {
		return Maker(pod.GetLabels(), pod.GetOwnerReferences())
	}}
}

// String describes what the match selects.
func (m *Match) String() string {
	var parts []string
	if m.NamespaceSelector != nil {
		parts = append(parts, "namespaces "+everything(m.namespaces))
	}
	if m.PodSelector != nil {
		parts = append(parts, "pods "+everything(m.pods))
	}
	if len(m.Kinds) > 0 {
		parts = append(parts, "kinds "+strings.Join(m.Kinds, ", "))
	}
	return strings.Join(parts, "; ")
}

func everything(s labels.Selector) string {
	if s.Empty() {
		return "all"
	}
	return s.String()
}
