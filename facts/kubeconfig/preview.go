package kubeconfig

import (
	"context"
	"fmt"
	"math"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/facts/preview"
	"github.com/usher-dev/usher/injector/template"
)

// Preview finds what applying a template does to the workloads of the cluster, with
// the rights of the user. Without the right to list namespaces it looks at one.
func (c *Cluster) Preview(ctx context.Context, t *template.Template, namespace string, visit func(preview.Effect)) (*preview.Summary, error) {
	if c.Templates == nil {
		return nil, fmt.Errorf("you may not read the templates in namespace %s, without which the effect of another one is unknown", c.Own)
	}
	var unread []error
	names, err := c.served(ctx)
	if apierrors.IsForbidden(err) {
		names, unread = []string{namespace}, []error{fmt.Errorf("only namespace %s: %w", namespace, err)}
	} else if err != nil {
		return nil, err
	}
	world := *c.world
	world.Explain = false
	survey := preview.Survey{Source: c, World: &world, Objects: c.objects, Limit: math.MaxInt}
	found, err := survey.Run(ctx, t, names, visit)
	if err != nil {
		return nil, err
	}
	found.Unread = append(unread, found.Unread...)
	return found, nil
}

// served lists the namespaces that the installation serves, and keeps their labels.
func (c *Cluster) served(ctx context.Context) ([]string, error) {
	var names []string
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(metadata("NamespaceList").GroupVersionKind())
	for {
		if err := c.List(ctx, list, client.Limit(Page), client.Continue(list.Continue)); err != nil {
			return nil, fmt.Errorf("listing the namespaces: %w", err)
		}
		for i := range list.Items {
			ns := &list.Items[i]
			c.namespaces[ns.Name] = ns
			if !c.world.Scope.Excludes(ns.Name, ns.Labels) {
				names = append(names, ns.Name)
			}
		}
		if list.Continue == "" {
			return names, nil
		}
	}
}
