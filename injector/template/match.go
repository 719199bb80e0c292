package template

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

// Kinds of Match.Kinds with a meaning of their own.
const (
	withoutController = "Pod"
	cronJob           = "CronJob" // whose pods belong to Jobs
)

var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// maxName is the length of the longest name of a kind or parameter. As a count in
// a pattern it would take a hundred kilobytes.
const maxName = 63

// parse reads the selectors.
func (m *Match) parse(bad *InvalidError) {
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
		case kind == cronJob:
			bad.add(at, 0, "is CronJob, whose pods belong to Jobs; write Job")
		case len(kind) > maxName || !kindPattern.MatchString(kind):
			bad.add(at, 0, "is %q; write the kind of a pod's controller, such as Deployment, or Pod for pods without one", kind)
		}
	}
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

// DoubtsControllers reports whether the template's match also selects the pods whose
// controller is not proved: otherwise the author of a pod could write an owner
// reference to do without a mandatory template for pods that have none.
func (t *Template) DoubtsControllers() bool {
	return t.Options.Mandatory && t.Options.Match != nil && slices.Contains(t.Options.Match.Kinds, withoutController)
}

// Namespaces is the selector of namespaces.
func (m *Match) Namespaces() labels.Selector { return m.namespaces }

// Pods is the selector of pods.
func (m *Match) Pods() labels.Selector { return m.pods }
