package registration

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner owns what usher applies.
const fieldOwner = "usher"

// Apply applies a configuration with server-side apply, so that it is exactly
// as rendered.
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
	// An apply keeps what others added to lists.
	if !removeForeign(object.Object, fields) {
		return nil
	}
	if err := c.Update(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("removing what is not usher's from the %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// removeForeign removes webhooks and conditions that are not in own from the
// applied object, and reports whether there were any.
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

// keepNamed keeps the items of a list that own also has.
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
