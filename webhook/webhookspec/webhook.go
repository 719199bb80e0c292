// Package webhookspec declares what the API server sends to a path. Handlers declare
// it, and the registration renders the webhook configurations from it.
package webhookspec

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/kinds"
)

// A Path is a path of usher's server and the webhooks that call it.
type Path struct {
	Path string
	// Validating webhooks are called after all mutations and change nothing.
	Validating bool
	Webhooks   []Webhook
}

// A Webhook is one webhook of a configuration: it selects requests, and decides
// what happens while usher does not answer.
type Webhook struct {
	// Name is a domain name of at least three labels; the API server uses it as a
	// prefix of audit annotations and in messages.
	Name            string
	Rules           []admissionregistrationv1.RuleWithOperations
	MatchConditions []admissionregistrationv1.MatchCondition
	// NamespaceLabels select namespaces, in addition to the exclusion of the
	// system namespaces.
	NamespaceLabels []LabelRequirement
	// OwnNamespace selects only usher's own namespace.
	OwnNamespace  bool
	FailurePolicy admissionregistrationv1.FailurePolicyType
}

// A LabelRequirement is a requirement on a namespace's labels.
type LabelRequirement = metav1.LabelSelectorRequirement

// Has requires a label to exist.
func Has(key string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
}

// HasNot requires a label not to exist.
func HasNot(key string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}
}

// In requires one of some values.
func In(key string, values ...string) LabelRequirement {
	return LabelRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
}

// NotIn requires that the label does not have one of some values; a missing
// label meets it.
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

// Rules selects operations on the resources of kinds, with a rule for each group.
func Rules(of []*kinds.Kind, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, k := range of {
		if last := len(rules) - 1; last >= 0 && rules[last].APIGroups[0] == k.Group() {
			rules[last].Resources = append(rules[last].Resources, k.Resource)
			continue
		}
		rules = append(rules, Rule(k.Group(), k.Resource, operations...))
	}
	return rules
}

// Condition is a match condition: a name and an expression in CEL.
func Condition(name, expression string) admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: name, Expression: expression}
}
