package conformance

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// caseLabel keeps the policies of a case from the objects of all others.
const caseLabel = "policy-case"

// A policyCase is a policy with its bindings and parameters, and objects that it
// may decide about.
type policyCase struct {
	name     string
	policy   *v1.ValidatingAdmissionPolicy
	bindings []*v1.ValidatingAdmissionPolicyBinding
	params   []*corev1.ConfigMap
	objects  []string // in JSON
}

// caseNamespaces are the namespaces of all cases, and their labels.
var caseNamespaces = map[string]map[string]string{
	"policies-dev":  {"stage": "dev"},
	"policies-prod": {"stage": "prod", "team": "a"},
}

// A policyGenerator generates cases.
type policyGenerator struct{ *rand.Rand }

func oneOf[T any](g policyGenerator, values ...T) T { return values[g.IntN(len(values))] }

// some returns each of the values with a probability of 1 of n.
func some[T any](g policyGenerator, n int, values ...T) (chosen []T) {
	for _, v := range values {
		if g.IntN(n) == 0 {
			chosen = append(chosen, v)
		}
	}
	return chosen
}

func (g policyGenerator) generate(n int) *policyCase {
	c := &policyCase{name: fmt.Sprintf("case-%d", n)}
	params := g.IntN(3) == 0
	c.policy = &v1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: "policy-" + c.name},
		Spec: v1.ValidatingAdmissionPolicySpec{
			FailurePolicy: oneOf(g, nil, ptr.To(v1.Fail), ptr.To(v1.Ignore)), MatchConstraints: g.constraints(c),
			MatchConditions: g.conditions(), Variables: g.variables(), Validations: g.validations(params), AuditAnnotations: g.annotations(),
		},
	}
	if params {
		c.policy.Spec.ParamKind = &v1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
		for i, namespace := range append(some(g, 2, "policies-dev", "policies-prod"), "default") {
			c.params = append(c.params, &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("params-%s-%d", c.name, i%2), Namespace: namespace, Labels: map[string]string{"params": c.name, "n": fmt.Sprint(i % 2)}},
				Data:       map[string]string{"max": fmt.Sprint(g.IntN(4)), "prefix": oneOf(g, "app-", "web")},
			})
		}
	}
	for i := range 1 + g.IntN(2) {
		c.bindings = append(c.bindings, g.binding(c, i))
	}
	for i := range 4 {
		c.objects = append(c.objects, g.object(c, i))
	}
	return c
}

func rule(operations []v1.OperationType, groups, versions, resources []string, scope v1.ScopeType, names ...string) v1.NamedRuleWithOperations {
	return v1.NamedRuleWithOperations{ResourceNames: names, RuleWithOperations: v1.RuleWithOperations{
		Operations: operations, Rule: v1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources, Scope: &scope},
	}}
}

func (g policyGenerator) rule(names ...string) v1.NamedRuleWithOperations {
	operations := oneOf(g, []v1.OperationType{"*"}, []v1.OperationType{v1.Create, v1.Update}, []v1.OperationType{v1.Create}, []v1.OperationType{v1.Update, v1.Delete})
	scope := oneOf(g, v1.AllScopes, v1.AllScopes, v1.NamespacedScope, v1.ClusterScope)
	switch g.IntN(6) {
	case 0:
		return rule(operations, []string{"*"}, []string{"*"}, []string{"*"}, scope, names...)
	case 1:
		return rule(operations, []string{"apps"}, []string{"v1"}, []string{"deployments", "statefulsets"}, scope, names...)
	case 2:
		return rule(operations, []string{""}, []string{"v1"}, []string{"configmaps", "pods/*", "namespaces"}, scope, names...)
	case 3: // the objects are in another version, which is equivalent
		return rule(operations, []string{"autoscaling"}, []string{"v1"}, []string{"horizontalpodautoscalers"}, scope, names...)
	case 4:
		return rule(operations, []string{"etcd.database.coreos.com", "rbac.authorization.k8s.io"}, []string{"*"}, []string{"*"}, scope, names...)
	}
	return rule(operations, []string{"", "apps", "autoscaling"}, []string{"*"}, []string{"*/*"}, scope, names...)
}

func (g policyGenerator) constraints(c *policyCase) *v1.MatchResources {
	m := &v1.MatchResources{MatchPolicy: oneOf(g, nil, ptr.To(v1.Exact), ptr.To(v1.Equivalent))}
	for range 2 + g.IntN(3) {
		m.ResourceRules = append(m.ResourceRules, g.rule())
	}
	if g.IntN(6) == 0 {
		m.ExcludeResourceRules = append(m.ExcludeResourceRules, g.rule(some(g, 2, c.name+"-0", c.name+"-1")...))
	}
	if g.IntN(5) == 0 {
		m.NamespaceSelector = g.namespaces()
	}
	if g.IntN(6) == 0 {
		m.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "tier", Operator: oneOf(g, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	}
	return m
}

func (g policyGenerator) namespaces() *metav1.LabelSelector {
	return oneOf(g,
		&metav1.LabelSelector{MatchLabels: map[string]string{"stage": "prod"}},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"policies-dev"}}}},
	)
}

func (g policyGenerator) conditions() (conditions []v1.MatchCondition) {
	for i, expression := range some(g, 12,
		"request.operation != 'DELETE'", "has(object.metadata.labels)", "object.metadata.labels.tier == 'web'", "!object.metadata.name.endsWith('-3')",
		"oldObject == null || object == null || object.metadata.labels == oldObject.metadata.labels", "namespaceObject == null", "request.name.size() > 3") {
		conditions = append(conditions, v1.MatchCondition{Name: fmt.Sprintf("c%d", i), Expression: expression})
	}
	return conditions
}

func (g policyGenerator) variables() []v1.Variable {
	return []v1.Variable{
		{Name: "one", Expression: "object != null ? object : oldObject"},
		{Name: "name", Expression: "variables.one.metadata.name"},
		{Name: "replicas", Expression: "has(variables.one.spec.replicas) ? variables.one.spec.replicas : 0"},
		{Name: "labels", Expression: "variables.one.metadata.?labels.orValue({})"},
		{Name: "images", Expression: "variables.one.spec.template.spec.containers.map(c, c.image)"},
	}
}

func (g policyGenerator) validations(params bool) (found []v1.Validation) {
	expressions := []string{
		"variables.replicas <= 2", "variables.one.spec.replicas < 3", "variables.name.matches('^case-[0-9]+-[012]$')", "'tier' in variables.labels",
		"variables.images.all(i, !i.endsWith(':latest') && i.contains(':'))", "namespaceObject.metadata.labels.stage == 'prod'",
		"request.operation in ['CREATE', 'UPDATE']", "request.resource.resource != 'deployments' || request.kind.version == 'v1'",
		"request.requestKind.version != 'v2'", "variables.one.kind != 'ConfigMap' || quantity(variables.one.data.size).isLessThan(quantity('1Gi'))",
		"object == null || oldObject == null || object.spec == oldObject.spec", "has(variables.one.data) && variables.one.data.exists(k, k.startsWith('s'))",
		"variables.one.apiVersion.split('/')[0] != 'apps'", "request.name != '' && request.namespace != 'policies-dev'",
		"[1, 2, 3].exists_one(n, n == variables.replicas) || optional.none().orValue(true)", "variables.one.spec.maxReplicas > 1", "variables.one.status.phase == 'Active'",
	}
	if params {
		expressions = append(expressions, "variables.replicas <= int(params.data.max)", "params == null || variables.name.startsWith(params.data.prefix)", "params.kind == 'ConfigMap' && params.metadata.namespace != 'x'")
	}
	g.Shuffle(len(expressions), func(i, j int) { expressions[i], expressions[j] = expressions[j], expressions[i] })
	for _, expression := range expressions[:1+g.IntN(3)] {
		v := v1.Validation{Expression: expression, Message: oneOf(g, "", "is wrong", " is padded ")}
		v.MessageExpression = oneOf(g, "", "", "'found ' + string(variables.replicas)", "string(variables.one.spec.none)", "'a\\nb'", "'in ' + request.namespace")
		v.Reason = oneOf(g, nil, ptr.To(metav1.StatusReasonForbidden))
		found = append(found, v)
	}
	return found
}

func (g policyGenerator) annotations() (found []v1.AuditAnnotation) {
	for i, expression := range some(g, 10, "'said'", "string(variables.one.spec.none)", "null") {
		found = append(found, v1.AuditAnnotation{Key: fmt.Sprintf("a%d", i), ValueExpression: expression})
	}
	return found
}

func (g policyGenerator) binding(c *policyCase, n int) *v1.ValidatingAdmissionPolicyBinding {
	b := &v1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("binding-%s-%d", c.name, n)},
		Spec: v1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        c.policy.Name,
			ValidationActions: oneOf(g, []v1.ValidationAction{v1.Deny}, []v1.ValidationAction{v1.Deny}, []v1.ValidationAction{v1.Deny, v1.Audit}, []v1.ValidationAction{v1.Warn}, []v1.ValidationAction{v1.Warn, v1.Audit}, []v1.ValidationAction{v1.Audit}),
			MatchResources:    &v1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{caseLabel: c.name}}},
		},
	}
	if g.IntN(4) == 0 {
		b.Spec.MatchResources.NamespaceSelector = g.namespaces()
	}
	if g.IntN(6) == 0 {
		b.Spec.MatchResources.ResourceRules = []v1.NamedRuleWithOperations{g.rule()}
	}
	if c.policy.Spec.ParamKind != nil && g.IntN(8) > 0 {
		ref := &v1.ParamRef{ParameterNotFoundAction: ptr.To(oneOf(g, v1.AllowAction, v1.DenyAction)), Namespace: oneOf(g, "", "default", "policies-dev")}
		if g.IntN(2) == 0 {
			ref.Name = fmt.Sprintf("params-%s-%d", c.name, g.IntN(3))
		} else {
			ref.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"params": c.name, "n": fmt.Sprint(g.IntN(3))}}
		}
		b.Spec.ParamRef = ref
	}
	return b
}

// object returns an object that some of the policies' rules are about.
func (g policyGenerator) object(c *policyCase, n int) string {
	namespace := oneOf(g, "default", "policies-dev", "policies-prod")
	labels := fmt.Sprintf(`%q: %q`, caseLabel, c.name)
	if g.IntN(2) == 0 {
		labels += fmt.Sprintf(`, "tier": %q`, oneOf(g, "web", "db"))
	}
	metadata := func(namespace string) string {
		if namespace != "" {
			namespace = fmt.Sprintf(`"namespace": %q, `, namespace)
		}
		return fmt.Sprintf(`"metadata": {%s"name": "%s-%d", "labels": {%s}}`, namespace, c.name, n, labels)
	}
	template := fmt.Sprintf(`"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": %q}]}}`,
		oneOf(g, "app", "app:latest", "registry.example/app:1"))
	replicas := oneOf(g, "", fmt.Sprintf(`"replicas": %d, `, g.IntN(5)))
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", %s, "data": {%q: "1Mi"}}`, metadata(namespace), oneOf(g, "size", "other"))
	case 1:
		return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "StatefulSet", %s, "spec": {"serviceName": "s", %s%s}}`, metadata(namespace), replicas, template)
	case 2:
		return fmt.Sprintf(`{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", %s, "spec": {"maxReplicas": %d, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}}}`, metadata(namespace), 1+g.IntN(3))
	case 3:
		return fmt.Sprintf(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", %s, "rules": []}`, metadata(""))
	case 4:
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", %s}`, metadata(""))
	case 5:
		return fmt.Sprintf(`{"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", %s, "spec": {"size": %d, "version": "3.6.12"}}`, metadata(namespace), oneOf(g, 1, 3, 5))
	}
	return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", %s, "spec": {%s%s}}`, metadata(namespace), replicas, template)
}
