// Package live reads from a cluster what a decision depends on, so that the
// command line decides about what is there as the webhook would.
package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/webhook"
)

// A Cluster is a connection, and what was read of the cluster.
type Cluster struct {
	client.Client
	// Own is usher's own namespace.
	Own string
	// Templates are those of usher's namespace.
	Templates *injector.Set
	// NativeSidecars says whether the cluster runs them.
	NativeSidecars bool

	namespaces map[string]map[string]string
}

// Connect reads the templates and the cluster's version.
func Connect(ctx context.Context, config *rest.Config, own string) (*Cluster, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	sidecars := &webhook.Sidecars{Discovery: discover, Reader: c, Log: logr.Discard()}
	if err := sidecars.Update(ctx); err != nil {
		return nil, fmt.Errorf("reading the cluster's version: %w", err)
	}
	cluster := &Cluster{Client: c, Own: own, NativeSidecars: sidecars.Available(), namespaces: map[string]map[string]string{}}
	cluster.Templates, err = cluster.templates(ctx)
	return cluster, err
}

func (c *Cluster) templates(ctx context.Context) (*injector.Set, error) {
	var list corev1.ConfigMapList
	if err := c.List(ctx, &list, client.InNamespace(c.Own)); err != nil {
		return nil, fmt.Errorf("reading the templates in namespace %s: %w", c.Own, err)
	}
	entries := map[string]injector.Entry{}
	for i := range list.Items {
		cm := &list.Items[i]
		name := injector.TemplateName(cm.Name, cm.Labels)
		// Of two ConfigMaps for one template the first by name serves, as in
		// the webhook; the list is sorted.
		if _, taken := entries[name]; name != "" && !taken {
			template, err := injector.ParseTemplate(name, cm.Data)
			entries[name] = injector.Entry{Template: template, Err: err}
		}
	}
	return injector.NewSet(entries), nil
}

// NamespaceLabels returns the labels of a namespace, read once.
func (c *Cluster) NamespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	if labels, ok := c.namespaces[name]; ok {
		return labels, nil
	}
	ns := Metadata("Namespace")
	if err := c.Get(ctx, client.ObjectKey{Name: name}, ns); err != nil {
		return nil, fmt.Errorf("reading the namespace %s: %w", name, err)
	}
	c.namespaces[name] = ns.Labels
	return ns.Labels, nil
}

// Decide decides about an object as the webhook would if it came now.
func (c *Cluster) Decide(ctx context.Context, kind, namespace string, object []byte) (*injector.Decision, error) {
	labels, err := c.NamespaceLabels(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return injector.Inject(injector.Request{
		Object: object, Kind: kind, Namespace: namespace, NamespaceLabels: labels, OwnNamespace: c.Own,
		Templates: c.Templates, NativeSidecars: c.NativeSidecars, Explain: true,
	})
}

// Absent names what the templates of a decision need and the namespace lacks.
func (c *Cluster) Absent(ctx context.Context, namespace string, templates ...string) []string {
	var lines []string
	for _, name := range templates {
		entry, ok := c.Templates.Get(name)
		if !ok || entry.Template == nil {
			continue
		}
		for _, ref := range entry.Template.References() {
			if webhook.Absent(ctx, c, namespace, ref) {
				lines = append(lines, fmt.Sprintf("%s %q, which template %s needs, is not in namespace %s; pods wait for it", ref.Kind, ref.Name, name, namespace))
			}
		}
	}
	return lines
}

// Registered says whether the API server sends pods to usher.
func (c *Cluster) Registered(ctx context.Context) (bool, error) {
	config := &metav1.PartialObjectMetadata{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"})
	err := c.Get(ctx, client.ObjectKey{Name: webhook.ConfigurationName}, config)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Metadata is an object of the core group of which only the metadata is read.
func Metadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	return object
}
