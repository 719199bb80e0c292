// Package entry declares what the API server sends to a path. Handlers declare
// it, and the registration renders the webhook configurations from it.
package entry

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Path is a path of usher's server and the webhooks that send to it.
type Path struct {
	Path string
	// Validating webhooks are called after every mutation and change nothing.
	Validating bool
	Entries    []Entry
}

// An Entry is one webhook of a configuration: what is sent, and what happens
// when usher does not answer.
type Entry struct {
	// Name is a domain name of at least three labels; the API server puts it
	// before audit annotations and into messages.
	Name            string
	Rules           []admissionregistrationv1.RuleWithOperations
	MatchConditions []admissionregistrationv1.MatchCondition
	// NamespaceLabels select namespaces, in addition to the exclusion of the
	// system's.
	NamespaceLabels []LabelRequirement
	// OwnNamespace sends usher's own namespace and no other.
	OwnNamespace  bool
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// A LabelRequirement is one that a namespace's labels must meet.
type LabelRequirement = metav1.LabelSelectorRequirement

// Has requires a label to be there.
func Has(key string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
}

// HasNot requires a label not to be there.
func HasNot(key string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}
}

// In requires one of some values.
func In(key string, values ...string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
}

// NotIn requires none of some values; without the label it is met.
func NotIn(key string, values ...string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values}
}

// Rule selects operations on namespaced resources of version v1, which are
// separated by commas.
func Rule(group, resources string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	namespaced := admissionregistrationv1.NamespacedScope
	return admissionregistrationv1.RuleWithOperations{
		Operations: slices.Clone(operations),
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: strings.Split(resources, ","), Scope: &namespaced,
		},
	}
}

// Condition is a match condition: a name and an expression in CEL.
func Condition(name, expression string) admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: name, Expression: expression}
}
