package registration

import (
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// A Target is how the API server reaches usher: a Service in the cluster, or a
// URL for a server outside of it.
type Target struct {
	// Name is the name of the configurations.
	Name      string
	Namespace string // usher's own namespace
	Service   string
	Port      int32
	URL       string // takes precedence over the Service
	CABundle  []byte
	// NamespaceSelector selects the namespaces that usher serves; nil selects all.
	NamespaceSelector *metav1.LabelSelector
	// Annotations are set on the configurations, where others may add their own.
	Annotations map[string]string
	// Owners own the configurations, so that they are deleted along with them.
	Owners []metav1.OwnerReference
	// Account is the ServiceAccount that usher uses. While it may not hold the
	// Lease, webhooks that fail closed select nothing; without a name they always
	// do.
	Account types.NamespacedName
	// Timeout is how long the API server waits for a response, in whole seconds.
	Timeout time.Duration
}

func (t Target) clientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	if t.URL != "" {
		url := t.URL + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: t.CABundle}
	}
	return admissionregistrationv1.WebhookClientConfig{
		Service:  &admissionregistrationv1.ServiceReference{Namespace: t.Namespace, Name: t.Service, Path: &path, Port: &t.Port},
		CABundle: t.CABundle,
	}
}

// Mutating renders the configuration of the mutating paths.
func Mutating(target Target, paths ...webhookspec.Path) *admissionregistrationv1.MutatingWebhookConfiguration {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: objectMeta(target),
	}
	ifNeeded := admissionregistrationv1.IfNeededReinvocationPolicy
	for _, p := range paths {
		if p.Validating {
			continue
		}
		for _, e := range p.Webhooks {
			w := render(target, p.Path, e)
			configuration.Webhooks = append(configuration.Webhooks, admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions, ReinvocationPolicy: &ifNeeded,
			})
		}
	}
	return configuration
}

// Validating renders the configuration of the validating paths.
func Validating(target Target, paths ...webhookspec.Path) *admissionregistrationv1.ValidatingWebhookConfiguration {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: objectMeta(target),
	}
	for _, p := range paths {
		if !p.Validating {
			continue
		}
		for _, e := range p.Webhooks {
			configuration.Webhooks = append(configuration.Webhooks, render(target, p.Path, e))
		}
	}
	return configuration
}

func objectMeta(target Target) metav1.ObjectMeta {
	annotations := target.Annotations
	if target.NamespaceSelector != nil {
		annotations = maps.Clone(annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[wellknown.AnnotationNamespaceSelector] = metav1.FormatLabelSelector(target.NamespaceSelector)
	}
	return metav1.ObjectMeta{
		Name: target.Name, Annotations: annotations, OwnerReferences: target.Owners,
		Labels: map[string]string{wellknown.LabelName: wellknown.Usher, wellknown.LabelManagedBy: wellknown.Usher, wellknown.LabelNamespace: target.Namespace},
	}
}

// render converts an entry to the API type. Both kinds of webhook have the same
// fields, except that the API server may call mutating ones again.
func render(target Target, path string, e webhookspec.Webhook) admissionregistrationv1.ValidatingWebhook {
	none, equivalent := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Equivalent
	timeout, policy := int32(target.Timeout.Seconds()), e.FailurePolicy
	conditions := e.MatchConditions
	if policy == admissionregistrationv1.Fail && target.Account.Name != "" {
		conditions = append(slices.Clone(conditions), installed(target)) // the dearest, so the last
	}
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    e.Name,
		ClientConfig:            target.clientConfig(path),
		Rules:                   e.Rules,
		FailurePolicy:           &policy,
		MatchPolicy:             &equivalent,
		NamespaceSelector:       namespaceSelector(e, target),
		ObjectSelector:          &metav1.LabelSelector{}, // set explicitly, so that usher owns it
		SideEffects:             &none,
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         conjunction(conditions),
	}
}

// conjunction joins the conditions of an entry into one, with their names as
// comments. The API server evaluates every condition of an entry, also after one
// was false, and asks its authorizer for every object of the rules; && ends with
// the first that is false. Both mean the same: an error counts only if nothing is
// false.
func conjunction(conditions []admissionregistrationv1.MatchCondition) []admissionregistrationv1.MatchCondition {
	if len(conditions) < 2 {
		return conditions
	}
	all := make([]string, len(conditions))
	for i, c := range conditions {
		all[i] = "// " + c.Name + "\n(" + c.Expression + ")"
	}
	return []admissionregistrationv1.MatchCondition{webhookspec.Condition("selected", strings.Join(all, " &&\n"))}
}

// namespaceSelector selects the namespaces that usher serves and the entry asks
// for, without the system's and usher's own; or only that one.
func namespaceSelector(e webhookspec.Webhook, target Target) *metav1.LabelSelector {
	if e.OwnNamespace {
		return &metav1.LabelSelector{MatchExpressions: append([]metav1.LabelSelectorRequirement{webhookspec.In(corev1.LabelMetadataName, target.Namespace)}, e.NamespaceLabels...)}
	}
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		webhookspec.NotIn(corev1.LabelMetadataName, append(slices.Clone(decision.SystemNamespaces), target.Namespace)...),
	}}
	if s := target.NamespaceSelector; s != nil {
		selector.MatchLabels = s.MatchLabels
		selector.MatchExpressions = append(selector.MatchExpressions, s.MatchExpressions...)
	}
	selector.MatchExpressions = append(selector.MatchExpressions, e.NamespaceLabels...)
	return selector
}
