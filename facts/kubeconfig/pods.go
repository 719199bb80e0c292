package kubeconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/kinds"
)

// Page is how many objects to list at once.
const Page = 500

// Running selects pods that have not ended.
func Running() fields.Selector {
	return fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
}

// Pods lists the pods in a namespace that have not ended and that the selector
// matches.
func (c *Cluster) Pods(ctx context.Context, namespace string, selector labels.Selector) ([]Workload, error) {
	return c.workloads(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), namespace,
		client.MatchingLabelsSelector{Selector: selector}, client.MatchingFieldsSelector{Selector: Running()})
}

// PodsOf lists the pods of a workload that have not ended; for a pod it returns
// the pod.
func (c *Cluster) PodsOf(ctx context.Context, w Workload) ([]Workload, error) {
	if w.IsPod() {
		return []Workload{w}, nil
	}
	selector, err := w.Selector()
	if err != nil {
		return nil, fmt.Errorf("reading the selector of %s: %w", w, err)
	}
	candidates, err := c.Pods(ctx, w.GetNamespace(), selector)
	if err != nil {
		return nil, err
	}
	var pods []Workload
	for _, pod := range candidates {
		owners, err := c.Owners(ctx, pod)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(owners, func(o Owner) bool { return o.UID == w.GetUID() }) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// WorkloadsMatching lists the workloads in a namespace whose pods the selector matches, each
// the topmost of its owners. It skips kinds that are not listable.
func (c *Cluster) WorkloadsMatching(ctx context.Context, namespace string, selector labels.Selector) ([]Workload, error) {
	var found []Workload
	creators := kinds.With(kinds.Creates, 0)
	slices.SortFunc(creators, func(a, b *kinds.Kind) int { return strings.Compare(a.Name, b.Name) })
	for _, kind := range creators {
		list, err := c.workloads(ctx, schema.FromAPIVersionAndKind(kind.APIVersion, kind.Name), namespace)
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			_, podLabels := w.TemplateMetadata()
			owners, err := c.Owners(ctx, w)
			if err != nil {
				return nil, err
			}
			if selector.Matches(labels.Set(podLabels)) && len(owners) == 0 {
				found = append(found, w)
			}
		}
	}
	return found, nil
}

func (c *Cluster) workloads(ctx context.Context, kind schema.GroupVersionKind, namespace string, options ...client.ListOption) ([]Workload, error) {
	var found []Workload
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		paged := append(slices.Clone(options), client.InNamespace(namespace), client.Limit(Page), client.Continue(list.GetContinue()))
		if err := c.List(ctx, list, paged...); err != nil {
			return nil, fmt.Errorf("listing %ss in namespace %s: %w", kind.Kind, namespace, err)
		}
		for i := range list.Items {
			found = append(found, Workload{list.Items[i].DeepCopy()})
		}
		if list.GetContinue() == "" {
			return found, nil
		}
	}
}
