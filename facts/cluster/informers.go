package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/usher-dev/usher/config"
)

// startInformers fills the stores from informers and keeps them up to date. They are
// complete when every returned function reports true.
func startInformers(ctx context.Context, c cache.Cache, templateStore *Templates, namespaceStore *Namespaces, configuration *Configuration) ([]toolscache.InformerSynced, error) {
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
		case cm.Name == config.ConfigMapName, cm.Name == config.LastValidName:
			configuration.Put(cm)
		default:
			templateStore.Put(cm)
		}
	}
	deleteConfigMap := func(object any) {
		if name := deletedName(object); name == config.ConfigMapName || name == config.LastValidName {
			configuration.Delete(name)
		} else {
			templateStore.Delete(name)
		}
	}
	putNamespace := func(object any) {
		if ns, ok := object.(*metav1.PartialObjectMetadata); ok {
			namespaceStore.Put(ns)
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
		DeleteFunc: func(object any) { namespaceStore.Delete(deletedName(object), deletedVersion(object)) },
	})
	if err != nil {
		return nil, err
	}
	return []toolscache.InformerSynced{templatesIn.HasSynced, namespacesIn.HasSynced}, nil
}

// deletedName returns the name of a deleted object, whose deletion event may
// have been missed.
func deletedName(object any) string {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return ""
	}
	_, name, _ := toolscache.SplitMetaNamespaceKey(key)
	return name
}

// deletedVersion returns the version of an object's deletion, "" if the event
// was missed.
func deletedVersion(object any) string {
	if o, ok := object.(metav1.Object); ok {
		return o.GetResourceVersion()
	}
	return ""
}
