package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector/template"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

func partialNamespace() *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	return ns
}

// trimConfigMap keeps only the data of templates and of the configuration.
func trimConfigMap(cm *corev1.ConfigMap) *corev1.ConfigMap {
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, ResourceVersion: cm.ResourceVersion}}
	if template.NameOf(cm.Name, cm.Labels) != "" || cm.Name == config.ConfigMapName || cm.Name == config.LastValidName {
		kept.Labels, kept.Data = cm.Labels, cm.Data
	}
	return kept
}

// trimNamespace keeps only the labels and annotations.
func trimNamespace(ns *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   ns.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name, ResourceVersion: ns.ResourceVersion, Labels: ns.Labels, Annotations: shortAnnotations(ns.Annotations)},
	}
}

// shortAnnotations are those from which parameters of templates may come. It leaves
// out the copy of the namespace that kubectl apply stores.
func shortAnnotations(annotations map[string]string) map[string]string {
	var short map[string]string
	for key, value := range annotations {
		if key == corev1.LastAppliedConfigAnnotation || len(value) > template.MaxValue {
			continue
		}
		if short == nil {
			short = map[string]string{}
		}
		short[key] = value
	}
	return short
}

// ByObject limits the caches of a manager to the ConfigMaps of usher's
// namespace.
func ByObject(own string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{own: {}}}}
}

// Trim keeps of an object in a cache only what decisions need: of templates and
// the configuration their data, of namespaces the labels and annotations, of workloads the
// labels of their pods.
func Trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.ConfigMap:
		return trimConfigMap(o), nil
	case *metav1.PartialObjectMetadata:
		if o.GroupVersionKind() == namespaceKind {
			return trimNamespace(o), nil
		}
	case *samplecrdv1.Network:
		return trimNetwork(o), nil
	}
	if related, ok := trim(object).(*trimmed); ok {
		return related, nil
	}
	return cache.TransformStripManagedFields()(object)
}
