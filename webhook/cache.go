package webhook

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/usher-dev/usher/injector"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

func partialNamespace() *metav1.PartialObjectMetadata {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(namespaceKind)
	return ns
}

// stripConfigMap keeps the data of templates and of the configuration alone.
func stripConfigMap(object any) (any, error) {
	cm, ok := object.(*corev1.ConfigMap)
	if !ok {
		return object, nil
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, ResourceVersion: cm.ResourceVersion}}
	if injector.TemplateName(cm.Name, cm.Labels) != "" || cm.Name == ConfigurationConfigMap {
		kept.Labels, kept.Data = cm.Labels, cm.Data
	}
	return kept, nil
}

// stripSecret keeps nothing of a Secret but that it changed: no key lies about
// in a cache.
func stripSecret(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object, nil
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, ResourceVersion: secret.ResourceVersion}}, nil
}

// stripNamespace keeps usher's labels alone.
func stripNamespace(object any) (any, error) {
	ns, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta:   ns.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name, ResourceVersion: ns.ResourceVersion, Labels: usherLabels(ns.Labels)},
	}, nil
}

// feed keeps the stores from the informers. The stores are whole when what it
// returns says so.
func feed(ctx context.Context, c cache.Cache, i *Injection, configuration *Configuration) ([]toolscache.InformerSynced, error) {
	templates, err := c.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	namespaces, err := c.GetInformer(ctx, partialNamespace(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	putConfigMap := func(object any) {
		cm, ok := object.(*corev1.ConfigMap)
		switch {
		case !ok:
		case cm.Name == ConfigurationConfigMap:
			configuration.Put(cm)
		default:
			i.Templates.Put(cm)
		}
	}
	deleteConfigMap := func(object any) {
		if name := deletedName(object); name == ConfigurationConfigMap {
			configuration.Delete()
		} else {
			i.Templates.Delete(name)
		}
	}
	putNamespace := func(object any) {
		if ns, ok := object.(*metav1.PartialObjectMetadata); ok {
			i.Namespaces.Put(ns.Name, ns.Labels)
		}
	}
	templatesIn, err := templates.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: putConfigMap, UpdateFunc: func(_, object any) { putConfigMap(object) }, DeleteFunc: deleteConfigMap,
	})
	if err != nil {
		return nil, err
	}
	namespacesIn, err := namespaces.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: putNamespace, UpdateFunc: func(_, object any) { putNamespace(object) },
		DeleteFunc: func(object any) { i.Namespaces.Delete(deletedName(object)) },
	})
	if err != nil {
		return nil, err
	}
	return []toolscache.InformerSynced{templatesIn.HasSynced, namespacesIn.HasSynced}, nil
}

// deletedName is the name of an object whose deletion may have been missed.
func deletedName(object any) string {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return ""
	}
	_, name, _ := toolscache.SplitMetaNamespaceKey(key)
	return name
}
