package webhook

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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

// Mutating renders the configuration from what the handlers declare.
func Mutating(target Target, handlers ...Handler) *admissionregistrationv1.MutatingWebhookConfiguration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName, Labels: map[string]string{"app.kubernetes.io/name": "usher", "app.kubernetes.io/managed-by": "usher"}},
	}
	none, equivalent, ifNeeded := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Equivalent, admissionregistrationv1.IfNeededReinvocationPolicy
	timeout := int32(timeoutSeconds)
	for _, h := range handlers {
		for _, e := range h.Entries {
			policy := e.FailurePolicy
			config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
				Name:                    e.Name,
				ClientConfig:            target.clientConfig(h.Path),
				Rules:                   e.Rules,
				FailurePolicy:           &policy,
				MatchPolicy:             &equivalent,
				NamespaceSelector:       namespaceSelector(target.Namespace, e.NamespaceLabel),
				SideEffects:             &none,
				TimeoutSeconds:          &timeout,
				AdmissionReviewVersions: []string{"v1"},
				ReinvocationPolicy:      &ifNeeded,
				MatchConditions:         e.MatchConditions,
			})
		}
	}
	return config
}

// namespaceSelector leaves out the system's namespaces and usher's own.
func namespaceSelector(own, label string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
		Values: append(slices.Clone(injector.SystemNamespaces), own),
	}}}
	if label != "" {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: label, Operator: metav1.LabelSelectorOpExists,
		})
	}
	return selector
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
