package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

func partialNamespace() *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	return ns
}

// trimConfigMap keeps only the data of templates and of the configuration.
func trimConfigMap(object any) (any, error) {
	cm, ok := object.(*corev1.ConfigMap)
	if !ok {
		return object, nil
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, ResourceVersion: cm.ResourceVersion}}
	if injector.TemplateName(cm.Name, cm.Labels) != "" || cm.Name == config.ConfigMapName || cm.Name == config.LastValidName {
		kept.Labels, kept.Data = cm.Labels, cm.Data
	}
	return kept, nil
}

// trimNamespace keeps only the labels.
func trimNamespace(object any) (any, error) {
	ns, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta:   ns.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name, ResourceVersion: ns.ResourceVersion, Labels: ns.Labels},
	}, nil
}

// ByObject limits the caches of a manager to what decisions need: the
// ConfigMaps of usher's namespace, the labels of namespaces, and of
// workloads the labels of their pods.
func ByObject(own string) map[client.Object]cache.ByObject {
	kept := map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{own: {}}, Transform: trimConfigMap},
		partialNamespace():  {Transform: trimNamespace},
	}
	for _, object := range relatedKinds() {
		kept[object] = cache.ByObject{Transform: trim}
	}
	return kept
}

// Trim limits the objects that ByObject does not name. It names no kind that a
// cluster may lack, because a cache does not start without its kinds.
func Trim(object any) (any, error) {
	if _, ok := object.(*samplecrdv1.Network); ok {
		return trimNetwork(object)
	}
	return cache.TransformStripManagedFields()(object)
}
