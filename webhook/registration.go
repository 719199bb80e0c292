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
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
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
		ObjectSelector:          &metav1.LabelSelector{}, // written, to be usher's
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

// Apply brings a configuration to the API server by server-side apply, so that
// it is as rendered and holds nothing else.
func Apply(ctx context.Context, c client.Client, config client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return fmt.Errorf("writing the %s: %w", config.GetObjectKind().GroupVersionKind().Kind, err)
	}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	// An apply leaves what others added to lists.
	if !removeForeign(object.Object, fields) {
		return nil
	}
	if err := c.Update(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("removing what is not usher's from the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// removeForeign takes webhooks and conditions that are not in own out of what
// was applied, and says whether there were any.
func removeForeign(applied, own map[string]any) bool {
	foreign := keepNamed(applied, own, "webhooks")
	owned := byName(own, "webhooks")
	for name, webhook := range byName(applied, "webhooks") {
		if keepNamed(webhook, owned[name], "matchConditions") {
			foreign = true
		}
	}
	return foreign
}

// keepNamed keeps the items of a list that own has, too.
func keepNamed(applied, own map[string]any, list string) (removed bool) {
	items, _ := applied[list].([]any)
	owned := byName(own, list)
	kept := slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		_, ok := owned[name]
		return !ok
	})
	if len(kept) == len(items) {
		return false
	}
	applied[list] = kept
	return true
}

func byName(object map[string]any, list string) map[string]map[string]any {
	items, _ := object[list].([]any)
	named := map[string]map[string]any{}
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			name, _ := object["name"].(string)
			named[name] = object
		}
	}
	return named
}
