package kubeconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/decision"
)

// An Installation is usher in a cluster.
type Installation struct {
	// Own is usher's own namespace.
	Own string
	// Configuration is the name of its webhook configurations; "" looks for the
	// ones of that namespace.
	Configuration string
}

// ErrUnknown means that the user may not read the webhook configurations.
var ErrUnknown = errors.New("whether usher is registered is unknown: the right to list mutatingwebhookconfigurations is missing")

// Check returns an error if the API server does not call the installation; it
// names other installations. If the user may not know, that is ErrUnknown.
func (i Installation) Check(ctx context.Context, c client.Reader) error {
	configuration, err := i.configuration(ctx, c)
	if err == nil && configuration != nil {
		return nil
	}
	others, errOthers := others(ctx, c)
	switch err := cmp.Or(err, errOthers); {
	case apierrors.IsForbidden(err):
		return ErrUnknown
	case err != nil:
		return fmt.Errorf("reading the webhook configurations: %w", err)
	case len(others) > 0:
		return fmt.Errorf("usher is not registered by an installation in namespace %s: the cluster has one in %s; pass --usher-namespace", i.Own, strings.Join(others, " and in "))
	}
	return fmt.Errorf("usher is not registered in this cluster, so new pods get no sidecar: check with `kubectl get deployment/usher-webhook -n %s` whether it runs; `usher status` says what is missing", i.Own)
}

// others returns the namespaces of all registered installations.
func others(ctx context.Context, c client.Reader) (namespaces []string, err error) {
	all, err := registrations(ctx, c)
	for n := range all {
		if own := all[n].Labels[wellknown.LabelNamespace]; own != "" {
			namespaces = append(namespaces, own)
		}
	}
	return namespaces, err
}

// Registered reports whether the API server calls the installation, and the
// namespaces that it serves. It returns true and every namespace if the
// configurations are not readable.
func (i Installation) Registered(ctx context.Context, c client.Reader) (bool, decision.Scope, error) {
	scope := decision.Scope{ReleaseNamespace: i.Own}
	configuration, err := i.configuration(ctx, c)
	switch {
	case apierrors.IsForbidden(err):
		return true, scope, nil
	case err != nil:
		return false, scope, fmt.Errorf("reading the webhook configurations: %w", err)
	case configuration == nil:
		return false, scope, nil
	}
	if text := configuration.Annotations[wellknown.AnnotationNamespaceSelector]; text != "" {
		if scope.Selector, err = labels.Parse(text); err != nil {
			return false, scope, fmt.Errorf("reading the annotation %s of the webhook configuration %s: %w", wellknown.AnnotationNamespaceSelector, configuration.Name, err)
		}
	}
	return true, scope, nil
}

// configuration returns the metadata of the mutating webhook configuration; nil
// if the installation has none.
func (i Installation) configuration(ctx context.Context, c client.Reader) (*metav1.PartialObjectMetadata, error) {
	if i.Configuration != "" {
		one := &metav1.PartialObjectMetadata{}
		one.SetGroupVersionKind(configurationKind)
		err := c.Get(ctx, client.ObjectKey{Name: i.Configuration}, one)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return one, err
	}
	all, err := registrations(ctx, c)
	for n := range all {
		if wellknown.BelongsTo(i.Own, all[n].Name, all[n].Labels) {
			return &all[n], nil
		}
	}
	return nil, err
}

// registrations returns the metadata of the mutating webhook configurations of
// all installations.
func registrations(ctx context.Context, c client.Reader) ([]metav1.PartialObjectMetadata, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(configurationKind.GroupVersion().WithKind(configurationKind.Kind + "List"))
	err := c.List(ctx, all, client.MatchingLabels{wellknown.LabelManagedBy: "usher"})
	return all.Items, err
}

var configurationKind = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
