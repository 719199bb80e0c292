package kubeconfig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/kinds"
)

// A Workload is a pod, or an object with a pod template.
type Workload struct{ *unstructured.Unstructured }

// Workload reads an object that is a pod or has a pod template.
func (c *Cluster) Workload(ctx context.Context, apiVersion, kind, namespace, name string) (Workload, error) {
	w := Workload{&unstructured.Unstructured{}}
	w.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, w.Unstructured)
	if apierrors.IsNotFound(err) {
		if _, err := c.Namespace(ctx, namespace); apierrors.IsNotFound(err) {
			return w, err
		}
		return w, fmt.Errorf("%s/%s does not exist in namespace %s: %w", strings.ToLower(kind), name, namespace, err)
	}
	if err != nil {
		return w, fmt.Errorf("reading %s/%s in namespace %s: %w", strings.ToLower(kind), name, namespace, err)
	}
	return w, nil
}

// String names the workload like kubectl.
func (w Workload) String() string { return strings.ToLower(w.GetKind()) + "/" + w.GetName() }

// IsPod reports whether the workload itself is a pod.
func (w Workload) IsPod() bool { return w.GetKind() == "Pod" }

// Template returns the pod template, or the pod itself; nil if there is none.
func (w Workload) Template() map[string]any {
	template, _, _ := unstructured.NestedMap(w.Object, kinds.Named(w.GetKind()).Template()...)
	return template
}

// TemplateMetadata returns the annotations and labels of the pod template.
func (w Workload) TemplateMetadata() (annotations, labels map[string]string) {
	template := w.Template()
	annotations, _, _ = unstructured.NestedStringMap(template, "metadata", "annotations")
	labels, _, _ = unstructured.NestedStringMap(template, "metadata", "labels")
	return annotations, labels
}

// NextPod returns the next pod of the workload as its controller would create
// it. For a pod that no controller recreates it is the same pod, without what
// the API server and usher wrote. templates may be nil.
func (w Workload) NextPod(templates *injector.Set) *unstructured.Unstructured {
	template := w.Template() // a copy
	pod := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	annotations, labels := w.TemplateMetadata()
	pod.SetAnnotations(maps.Clone(annotations))
	pod.SetLabels(maps.Clone(labels))
	pod.SetNamespace(w.GetNamespace())
	if w.IsPod() {
		pod.SetName(w.GetName())
		pod.SetOwnerReferences(w.GetOwnerReferences())
		uninject(pod, templates)
		return pod
	}
	pod.SetGenerateName(w.GetName() + "-")
	pod.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: w.GetAPIVersion(), Kind: w.GetKind(), Name: w.GetName(), UID: w.GetUID(), Controller: ptr.To(true),
	}})
	if w.GetKind() == "StatefulSet" {
		w.claim(pod)
	}
	return pod
}

// claim adds the volumes of a StatefulSet's claims, which replace others of the
// same name.
func (w Workload) claim(pod *unstructured.Unstructured) {
	claims, _, _ := unstructured.NestedSlice(w.Object, "spec", "volumeClaimTemplates")
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, claim := range claims {
		fields, _ := claim.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "metadata", "name")
		volumes = slices.DeleteFunc(volumes, func(v any) bool {
			volume, _ := v.(map[string]any)
			return volume["name"] == name
		})
		volumes = append(volumes, map[string]any{
			"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-" + w.GetName() + "-0"},
		})
	}
	if len(volumes) > 0 {
		_ = unstructured.SetNestedSlice(pod.Object, volumes, "spec", "volumes") // spec is an object: the API server sent it
	}
}

// Selector selects the pods of the workload, and possibly others; it selects
// everything if the workload has no selector.
func (w Workload) Selector() (labels.Selector, error) {
	fields, found, err := unstructured.NestedMap(w.Object, "spec", "selector")
	if err != nil || !found {
		return labels.Everything(), err
	}
	if w.GetKind() == "ReplicationController" {
		set, _, err := unstructured.NestedStringMap(w.Object, "spec", "selector")
		return labels.SelectorFromSet(set), err
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}
