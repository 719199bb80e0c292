package healing

import (
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
)

// trimPod keeps the part of a pod's metadata that its state depends on. Most
// pods are similar, so equal strings are stored once.
func trimPod(object any) (any, error) {
	pod, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	kept := &metav1.PartialObjectMetadata{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: shared(pod.Namespace), UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp, Labels: trimmed(pod.Labels, keepsLabel), Annotations: trimmed(pod.Annotations, keepsAnnotation),
		},
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: shared(owner.APIVersion), Kind: shared(owner.Kind), Name: shared(owner.Name), UID: owner.UID, Controller: owner.Controller,
		}}
	}
	return kept, nil
}

// keepsLabel drops labels whose values are unique to a pod, which no template
// selects by.
func keepsLabel(key string) bool {
	return key != "statefulset.kubernetes.io/pod-name" && key != "apps.kubernetes.io/pod-index"
}

func keepsAnnotation(key string) bool {
	return key == wellknown.AnnotationInjected || key == wellknown.AnnotationOwnLabels || strings.HasPrefix(key, wellknown.InitializerPrefix) || strings.HasPrefix(key, wellknown.InjectPrefix)
}

func trimmed(all map[string]string, keep func(string) bool) map[string]string {
	var kept map[string]string
	for key, value := range all {
		if !keep(key) {
			continue
		}
		if kept == nil {
			kept = make(map[string]string, len(all))
		}
		kept[shared(key)] = shared(value)
	}
	return kept
}

// shared returns the string, stored only once.
func shared(text string) string { return unique.Make(text).Value() }

// trimNamespace keeps the labels.
func trimNamespace(object any) (any, error) {
	ns, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: ns.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: ns.Name, ResourceVersion: ns.ResourceVersion, Labels: trimmed(ns.Labels, func(string) bool { return true }),
	}}, nil
}
