package webhook

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
)

// ConfigurationName is the name of usher's webhook configurations.
const ConfigurationName = "usher"

// fieldOwner owns what usher applies.
const fieldOwner = "usher"

// timeoutSeconds is how long the API server waits. It is at most 5: several
// webhooks in a row must not reach the request's own deadline.
const timeoutSeconds = 5

// A Target is where the API server finds usher: a Service in the cluster, or a
// URL for a server that runs outside of it.
type Target struct {
	Namespace string // usher's own
	Service   string
	Port      int32
	URL       string // wins over the Service
	CABundle  []byte
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

// Mutating renders the configuration of the mutating handlers from what they
// declare.
func Mutating(target Target, handlers ...Handler) *admissionregistrationv1.MutatingWebhookConfiguration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: objectMeta(),
	}
	ifNeeded := admissionregistrationv1.IfNeededReinvocationPolicy
	for _, h := range handlers {
		if h.Validating {
			continue
		}
		for _, e := range h.Entries {
			w := e.render(target, h.Path)
			config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions, ReinvocationPolicy: &ifNeeded,
			})
		}
	}
	return config
}

// Validating renders the configuration of the validating handlers.
func Validating(target Target, handlers ...Handler) *admissionregistrationv1.ValidatingWebhookConfiguration {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: objectMeta(),
	}
	for _, h := range handlers {
		if !h.Validating {
			continue
		}
		for _, e := range h.Entries {
			config.Webhooks = append(config.Webhooks, e.render(target, h.Path))
		}
	}
	return config
}

func objectMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: ConfigurationName, Labels: map[string]string{"app.kubernetes.io/name": "usher", "app.kubernetes.io/managed-by": "usher"}}
}

// render is an entry as the API has it. Both kinds of webhook have the same
// fields, but that mutating ones may be asked again.
func (e Entry) render(target Target, path string) admissionregistrationv1.ValidatingWebhook {
	none, equivalent := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Equivalent
	timeout, policy := int32(timeoutSeconds), e.FailurePolicy
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    e.Name,
		ClientConfig:            target.clientConfig(path),
		Rules:                   e.Rules,
		FailurePolicy:           &policy,
		MatchPolicy:             &equivalent,
		NamespaceSelector:       e.namespaceSelector(target.Namespace),
		SideEffects:             &none,
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         e.MatchConditions,
	}
}

// namespaceSelector leaves out the system's namespaces and usher's own, unless
// that one alone is meant.
func (e Entry) namespaceSelector(own string) *metav1.LabelSelector {
	names := NotIn(corev1.LabelMetadataName, append(slices.Clone(injector.SystemNamespaces), own)...)
	if e.OwnNamespace {
		names = In(corev1.LabelMetadataName, own)
	}
	return &metav1.LabelSelector{MatchExpressions: append([]metav1.LabelSelectorRequirement{names}, e.NamespaceLabels...)}
}

// Apply brings a configuration to the API server by server-side apply.
func Apply(ctx context.Context, c client.Client, config client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return fmt.Errorf("writing the %s: %w", config.GetObjectKind().GroupVersionKind().Kind, err)
	}
	object := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
