package handlers

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/webhook/webhookspec"
)

// onlyReplicas is true, in CEL, for an update that leaves every field of the
// spec as it was, except the number replicas; a Scale has no other field. The
// metadata does not count: the API server does not send a change of the metadata
// alone, so a change of both is two changes that pass. A custom kind's spec need
// not be a map, nor its replicas a number.
const onlyReplicas = `oldObject != null && has(object.spec) && has(oldObject.spec) && type(object.spec) == map && type(oldObject.spec) == map && ` +
	`object.spec.all(k, k == "replicas" ? type(object.spec[k]) == int : k in oldObject.spec && object.spec[k] == oldObject.spec[k]) && ` +
	`oldObject.spec.all(k, k == "replicas" ? type(oldObject.spec[k]) == int : k in object.spec)`

// Where rules are enforced, exactly one of these conditions is true for an
// object that specChanged selects, and the second is false for all others.
var (
	changesOnlyReplicas = webhookspec.Condition("changes-only-replicas", onlyReplicas)
	changesMore         = webhookspec.Condition("changes-more-than-replicas", "!("+onlyReplicas+")")
)

// scaleRule selects the subresource scale of workloads.
func scaleRule() admissionregistrationv1.RuleWithOperations {
	return webhookspec.Rule("apps", "deployments/scale,replicasets/scale,statefulsets/scale", admissionregistrationv1.Update)
}

// apartFromScale returns the rules without scaleRule.
func apartFromScale(rules []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	return slices.DeleteFunc(slices.Clone(rules), func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.Equal(r.Resources, scaleRule().Resources)
	})
}

// scalingRules select changes of replicas: of workloads that have them, through
// their subresource scale, and of custom kinds.
func scalingRules(custom []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	const update = admissionregistrationv1.Update
	rules := []admissionregistrationv1.RuleWithOperations{
		webhookspec.Rule("", "replicationcontrollers", update),
		webhookspec.Rule("apps", "deployments,replicasets,statefulsets", update),
		scaleRule(),
	}
	for _, rule := range custom {
		rule.Operations = []admissionregistrationv1.OperationType{update}
		rules = append(rules, rule)
	}
	return rules
}
