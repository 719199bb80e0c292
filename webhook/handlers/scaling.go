package handlers

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/kinds"
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

// scale is the subresource that sets only the number of replicas.
const scale = "/scale"

// scalable are the rules of the workloads whose Scale is sent.
func scalable() []admissionregistrationv1.RuleWithOperations {
	sent := slices.DeleteFunc(kinds.With(kinds.PropagatesOptIn, 0), func(k *kinds.Kind) bool { return k.Replicas() == nil })
	return webhookspec.Rules(sent, admissionregistrationv1.Update)
}

// scaleRules select the subresource scale of the workloads of an API group.
func scaleRules(group string) []admissionregistrationv1.RuleWithOperations {
	rules := scalable()
	for _, r := range rules {
		for i := range r.Resources {
			r.Resources[i] += scale
		}
	}
	return slices.DeleteFunc(rules, func(r admissionregistrationv1.RuleWithOperations) bool { return r.APIGroups[0] != group })
}

// apartFromScale returns the rules that do not select the subresource scale.
func apartFromScale(rules []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	return slices.DeleteFunc(slices.Clone(rules), func(r admissionregistrationv1.RuleWithOperations) bool {
		return strings.HasSuffix(r.Resources[0], scale)
	})
}

// scalingRules select changes of replicas: of workloads that have them, through
// their subresource scale, and of custom kinds.
func scalingRules(custom []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	const update = admissionregistrationv1.Update
	rules := []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "replicationcontrollers", update)}
	for _, rule := range scalable() {
		rules = append(rules, rule)
		rules = append(rules, scaleRules(rule.APIGroups[0])...)
	}
	for _, rule := range custom {
		rule.Operations = []admissionregistrationv1.OperationType{update}
		rules = append(rules, rule)
	}
	return rules
}
