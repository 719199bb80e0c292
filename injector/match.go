package injector

import (
	"fmt"
	"maps"
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

// A Subject is what options.match selects by.
type Subject struct {
	// NamespaceLabels are the labels of the pod's namespace.
	NamespaceLabels map[string]string
	// Labels are the labels of the pod.
	Labels map[string]string
	// Kind returns the kind of the pod's controller; it is called only if needed.
	Kind func() string
	// Unproved is true if nothing proves the pod's controller: any author of a pod
	// can write an owner reference.
	Unproved bool
	// given are labels that the pod does not have yet.
	given map[string]string
}

// selects reports whether a template's match selects the pod, as it is or with the
// labels that it is given.
func (t *Template) selects(s Subject) bool {
	m := t.Options.Match
	return m != nil && m.namespaces.Matches(labels.Set(s.NamespaceLabels)) &&
		(m.pods.Matches(labels.Set(s.Labels)) || len(s.given) > 0 && m.pods.Matches(labels.Merge(s.given, s.Labels))) &&
		t.selectsMaker(s)
}

// selectedByLabels returns the labels that templates have added to the pod so far,
// and whether these make a match select a template that the decision does not know
// of. The pod has these labels when it is validated, so they count like its own.
func (d *decision) selectedByLabels() (given map[string]string, more bool) {
	r := &d.request
	if d.Denied || d.merge == nil || len(d.merge.labels) == 0 || len(r.Templates.Matches()) == 0 {
		return nil, false
	}
	given = maps.Clone(d.given)
	if given == nil {
		given = map[string]string{}
	}
	for _, label := range d.merge.labels {
		given[label.key] = label.value
	}
	subject := r.subject(d.merge.pod)
	subject.given = given
	asks := asked(d.merge.pod.annotations(), r.Templates, subject)
	return given, slices.ContainsFunc(asks, func(a ask) bool {
		known := find(d.asks, a.template)
		return known == nil || known.nevertheless != a.nevertheless
	})
}

// matching names the templates whose match selects the pod, sorted.
func (s *Set) matching(subject Subject) []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, t := range s.matches {
		if t.selects(subject) {
			names = append(names, t.Name)
		}
	}
	return names
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
