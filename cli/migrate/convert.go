package migrate

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/injector/decision"
)

// lastApplied is kubectl's copy of the object, which is the old one.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Convert converts an InitializerConfiguration, as JSON, to its current
// equivalent. The error is for an unreadable object.
func Convert(object []byte) (*Migration, error) {
	old, meta, err := decode(object)
	if err != nil {
		return nil, err
	}
	if wrong := validation.IsDNS1123Subdomain(meta.Name); len(wrong) > 0 {
		return nil, Problem{"metadata.name", fmt.Sprintf("%q is not a name; write lower case letters, digits, '-' and '.'", meta.Name)}
	}
	m := &Migration{
		Configuration: &admissionv1.MutatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Labels: meta.Labels},
		},
		comments: comments{},
	}
	for key, value := range meta.Annotations {
		if key != lastApplied {
			metav1.SetMetaDataAnnotation(&m.Configuration.ObjectMeta, key, value)
		}
	}
	if len(old.Initializers) == 0 {
		m.problem("initializers", "is empty, so there is nothing to convert")
	}
	for i, in := range old.Initializers {
		m.initializer(fmt.Sprintf("initializers[%d]", i), in)
	}
	m.comments[""] = header(meta.Name)
	return m, nil
}

// initializer converts one initializer, or explains why it cannot.
func (m *Migration) initializer(path string, in initializer) {
	if !m.checkName(path+".name", in.Name) {
		return
	}
	policy, policyComment, ok := m.failurePolicy(path+".failurePolicy", in.FailurePolicy)
	if !ok {
		return
	}
	var notes notes
	rules, targets := m.rules(path, in.Rules, &notes)
	hook := webhook{name: in.Name, policy: policy, policyComment: policyComment}
	template, ours := templateOf(in.Name)
	if !ours {
		hook.path, hook.rules = podsPath, rules
		hook.comment = foreignComment(in.Name)
		m.webhook(path, hook, &notes)
		return
	}
	hook.template = template
	pods, workloads := m.narrow(path, targets, &notes)
	if len(pods) == 0 && len(workloads) > 0 {
		notes.add(workloadNote)
	}
	if len(pods) > 0 || len(workloads) == 0 {
		hook.path, hook.rules = podsPath, pods
		m.webhook(path, hook, &notes)
	}
	if len(workloads) > 0 {
		if len(pods) > 0 {
			hook.name = "workloads." + in.Name
			hook.comment = secondComment
		}
		hook.path, hook.rules = workloadsPath, workloads
		m.webhook(path, hook, &notes)
	}
}

// webhook is what differs between the webhooks of a configuration.
type webhook struct {
	name, path, template, comment string
	rules                         []admissionv1.RuleWithOperations
	policy                        admissionv1.FailurePolicyType
	policyComment                 string
}

// webhook adds a webhook to the configuration.
func (m *Migration) webhook(path string, w webhook, notes *notes) {
	if len(w.rules) == 0 {
		m.problem(path, "no rules remain, so %s is omitted", w.name)
		return
	}
	if slices.ContainsFunc(m.Configuration.Webhooks, func(other admissionv1.MutatingWebhook) bool { return other.Name == w.name }) {
		m.problem(path+".name", "two webhooks would have the name %q; put the rules under one initializer", w.name)
		return
	}
	sideEffects, match, reinvoke := admissionv1.SideEffectClassNone, admissionv1.Equivalent, admissionv1.NeverReinvocationPolicy
	hook := admissionv1.MutatingWebhook{
		Name: w.name,
		ClientConfig: admissionv1.WebhookClientConfig{
			Service: &admissionv1.ServiceReference{Namespace: serviceNamespace, Name: serviceName, Path: &w.path},
		},
		Rules:         w.rules,
		FailurePolicy: &w.policy,
		MatchPolicy:   &match,
		// A webhook that may be down must not block what a cluster needs to start.
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
			Values: append(slices.Clone(decision.SystemNamespaces), serviceNamespace),
		}}},
		SideEffects:             &sideEffects,
		ReinvocationPolicy:      &reinvoke,
		AdmissionReviewVersions: []string{"v1"},
	}
	at := fmt.Sprintf("webhooks[%d].", len(m.Configuration.Webhooks))
	if w.template != "" {
		hook.MatchConditions = asksFor(w.template)
		m.comments[at+"matchConditions"] = conditionComment(w.template)
	}
	m.comments[at+"clientConfig"] = strings.TrimPrefix(w.comment+"\n"+clientConfigComment, "\n")
	m.comments[at+"failurePolicy"] = w.policyComment
	m.comments[at+"matchPolicy"] = matchPolicyComment
	m.comments[at+"namespaceSelector"] = namespaceComment
	m.comments[at+"reinvocationPolicy"] = reinvocationComment
	m.comments[at+"rules"] = rulesComment + notes.text()
	m.comments[at+"sideEffects"] = sideEffectsComment
	m.Configuration.Webhooks = append(m.Configuration.Webhooks, hook)
}

// checkName checks the name against the API server's rules for initializers and
// webhooks.
func (m *Migration) checkName(path, name string) bool {
	switch {
	case strings.Contains(name, "//"):
		m.problem(path, "%q is part of the value from // on; write # for a comment", name)
	case len(validation.IsDNS1123Subdomain(name)) > 0 || strings.Count(name, ".") < 2:
		m.problem(path, "%q is not a name of an initializer; write lower case letters and digits with at least two dots, as in envoy%s", name, nameSuffix)
	default:
		return true
	}
	return false
}

func (m *Migration) failurePolicy(path string, old *string) (policy admissionv1.FailurePolicyType, comment string, ok bool) {
	switch {
	case old == nil:
		return admissionv1.Fail, absentPolicyComment, true
	case *old == string(admissionv1.Fail):
		return admissionv1.Fail, failPolicyComment, true
	case *old == string(admissionv1.Ignore):
		return admissionv1.Ignore, ignorePolicyComment, true
	}
	m.problem(path, "%q; write Fail or Ignore", *old)
	return "", "", false
}
