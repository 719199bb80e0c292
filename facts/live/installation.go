package live

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
)

// An Installation is usher in a cluster.
type Installation struct {
	// Own is usher's own namespace.
	Own string
	// Configuration is the name of its webhook configurations; "" looks for the
	// ones of that namespace.
	Configuration string
}

// Registered reports whether the API server calls the installation, and the
// namespaces that it serves. It returns true and every namespace if the
// configurations are not readable.
func (i Installation) Registered(ctx context.Context, c client.Reader) (bool, injector.Scope, error) {
	scope := injector.Scope{Own: i.Own}
	configuration, err := i.configuration(ctx, c)
	switch {
	case apierrors.IsForbidden(err):
		return true, scope, nil
	case err != nil:
		return false, scope, fmt.Errorf("reading the webhook configurations: %w", err)
	case configuration == nil:
		return false, scope, nil
	}
	if text := configuration.Annotations[config.SelectorAnnotation]; text != "" {
		if scope.Selector, err = labels.Parse(text); err != nil {
			return false, scope, fmt.Errorf("reading the annotation %s of the webhook configuration %s: %w", config.SelectorAnnotation, configuration.Name, err)
		}
	}
	return true, scope, nil
}

// configuration returns the metadata of the mutating webhook configuration; nil
// if the installation has none.
func (i Installation) configuration(ctx context.Context, c client.Reader) (*metav1.PartialObjectMetadata, error) {
	kind := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	if i.Configuration != "" {
		one := &metav1.PartialObjectMetadata{}
		one.SetGroupVersionKind(kind)
		err := c.Get(ctx, client.ObjectKey{Name: i.Configuration}, one)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return one, err
	}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, all, client.MatchingLabels{config.ManagedByLabel: "usher"}); err != nil {
		return nil, err
	}
	for n := range all.Items {
		if config.Belongs(&all.Items[n], i.Own) {
			return &all.Items[n], nil
		}
	}
	return nil, nil
}
