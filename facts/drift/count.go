package drift

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
)

// Counted is what running pods have of a template.
type Counted struct{ Current, Outdated, Missing int }

// Count counts the running pods of a scope by template, in the namespaces that usher
// serves, by their metadata. A pod whose metadata says that it lacks a template
// counts only if the next one would get it, or would be denied.
func Count(ctx context.Context, c *kubeconfig.Cluster, scope Scope, serves decision.Scope) (map[string]Counted, error) {
	finder := NewFinder(c)
	counts := map[string]Counted{}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		if err := c.List(ctx, list, scope.options(list.Continue)...); err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		for i := range list.Items {
			if err := finder.count(ctx, &list.Items[i], serves, counts); err != nil {
				return nil, err
			}
		}
		if list.Continue == "" {
			return counts, nil
		}
	}
}

// count counts one pod.
func (f *Finder) count(ctx context.Context, pod *metav1.PartialObjectMetadata, serves decision.Scope, counts map[string]Counted) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	labels, err := f.NamespaceLabels(ctx, pod.Namespace)
	if apierrors.IsNotFound(err) {
		return nil // deleted in the meantime
	}
	if err != nil {
		return err
	}
	if serves.Excludes(pod.Namespace, labels) {
		return nil
	}
	lacks := false
	for _, s := range injector.Sidecars(pod.Annotations, injector.PodSubject(pod, labels), f.Templates) {
		n := counts[s.Template]
		switch s.State {
		case injector.Current:
			n.Current++
		case injector.Outdated:
			n.Outdated++
		case injector.Missing:
			lacks = true
		case injector.Present: // without templates nothing can be compared
		}
		counts[s.Template] = n
	}
	if !lacks {
		return nil
	}
	findings, err := f.Pod(ctx, pod)
	if err != nil {
		return err
	}
	for _, finding := range findings {
		if finding.Have == "" {
			n := counts[finding.Template]
			n.Missing++
			counts[finding.Template] = n
		}
	}
	return nil
}
