package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/verdict"
)

// deciding are the kinds of objects that decide about other objects in a cluster,
// and that usher does not evaluate, by API group. No kinds means all kinds.
var deciding = map[string][]string{
	"": {"ResourceQuota"},
	"admissionregistration.k8s.io": {
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	},
	// Kyverno
	"kyverno.io": {"ClusterPolicy", "Policy", "PolicyException"},
	"policies.kyverno.io": {
		"ValidatingPolicy", "NamespacedValidatingPolicy", "MutatingPolicy", "NamespacedMutatingPolicy",
		"ImageValidatingPolicy", "NamespacedImageValidatingPolicy", "PolicyException",
	},
	// Gatekeeper
	"constraints.gatekeeper.sh": nil,
	"mutations.gatekeeper.sh":   nil,
	"templates.gatekeeper.sh":   {"ConstraintTemplate"},
}

// An Unevaluated object decides about others, and usher does not evaluate it.
type Unevaluated struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	File       string `json:"file"`
	Line       int    `json:"line"`
}

// NotEvaluated returns the objects that decide about others in a cluster and
// that usher does not evaluate. usher's own registrations are not among them: a
// verdict is what they decide.
func NotEvaluated(docs []*manifest.Document) (found []Unevaluated) {
	for _, d := range docs {
		if decides(d) {
			found = append(found, Unevaluated{d.APIVersion, d.Kind, d.Namespace, d.Name, d.File, d.Line})
		}
	}
	return found
}

func decides(d *manifest.Document) bool {
	group, _, grouped := strings.Cut(d.APIVersion, "/")
	if !grouped {
		group = ""
	}
	kinds, known := deciding[group]
	if !known || !d.IsObject() || len(kinds) > 0 && !slices.Contains(kinds, d.Kind) {
		return false
	}
	labels, _ := verdict.Labels(d.JSON)
	return labels[wellknown.LabelManagedBy] != "usher"
}

// named limits how many objects NotEvaluatedNote names.
const named = 10

// NotEvaluatedNote names the objects in one line; "" for none.
func NotEvaluatedNote(objects []Unevaluated) string {
	if len(objects) == 0 {
		return ""
	}
	var names []string
	for _, o := range objects[:min(len(objects), named)] {
		names = append(names, o.String())
	}
	text := strings.Join(names, ", ")
	if more := len(objects) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("usher does not evaluate these objects, which decide about others in a cluster: %s", text)
}

// String names the object like kubectl.
func (u Unevaluated) String() string {
	name := strings.ToLower(u.Kind) + "/" + u.Name
	if u.Namespace != "" {
		name = u.Namespace + "/" + name
	}
	return name
}
