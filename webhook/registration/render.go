package registration

import (
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/webhook/entry"
)

// ConfigurationName is the name of usher's webhook configurations.
const ConfigurationName = "usher"

// A Target is how the API server reaches usher: a Service in the cluster, or a
// URL for a server outside of it.
type Target struct {
	Namespace string // usher's own namespace
	Service   string
	Port      int32
	URL       string // takes precedence over the Service
	CABundle  []byte
	// Annotations are set on the configurations, where others may add their own.
	Annotations map[string]string
	// Owners own the configurations, so that they are deleted along with them.
	Owners []metav1.OwnerReference
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
func Mutating(target Target, paths ...entry.Path) *admissionregistrationv1.MutatingWebhookConfiguration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: objectMeta(target),
	}
	ifNeeded := admissionregistrationv1.IfNeededReinvocationPolicy
	for _, p := range paths {
		if p.Validating {
			continue
		}
		for _, e := range p.Entries {
			w := render(target, p.Path, e)
			config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions, ReinvocationPolicy: &ifNeeded,
			})
		}
	}
	return config
}

// Validating renders the configuration of the validating paths.
func Validating(target Target, paths ...entry.Path) *admissionregistrationv1.ValidatingWebhookConfiguration {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: objectMeta(target),
	}
	for _, p := range paths {
		if !p.Validating {
			continue
		}
		for _, e := range p.Entries {
			config.Webhooks = append(config.Webhooks, render(target, p.Path, e))
		}
	}
	return config
}

func objectMeta(target Target) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: ConfigurationName, Annotations: target.Annotations, OwnerReferences: target.Owners,
		Labels: map[string]string{"app.kubernetes.io/name": "usher", "app.kubernetes.io/managed-by": "usher"},
	}
}

// render converts an entry to the API type. Both kinds of webhook have the same
// fields, except that the API server may call mutating ones again.
func render(target Target, path string, e entry.Entry) admissionregistrationv1.ValidatingWebhook {
	none, equivalent := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Equivalent
	timeout, policy := int32(target.Timeout.Seconds()), e.FailurePolicy
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    e.Name,
		ClientConfig:            target.clientConfig(path),
		Rules:                   e.Rules,
		FailurePolicy:           &policy,
		MatchPolicy:             &equivalent,
		NamespaceSelector:       namespaceSelector(e, target.Namespace),
		ObjectSelector:          &metav1.LabelSelector{}, // set explicitly, so that usher owns it
		SideEffects:             &none,
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         e.MatchConditions,
	}
}

// namespaceSelector excludes the system namespaces and usher's own, unless it
// selects only that one.
func namespaceSelector(e entry.Entry, own string) *metav1.LabelSelector {
	names := entry.NotIn(corev1.LabelMetadataName, append(slices.Clone(injector.SystemNamespaces), own)...)
	if e.OwnNamespace {
		names = entry.In(corev1.LabelMetadataName, own)
	}
	return &metav1.LabelSelector{MatchExpressions: append([]metav1.LabelSelectorRequirement{names}, e.NamespaceLabels...)}
}
