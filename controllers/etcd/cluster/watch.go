package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// owned triggers the controller on changes of what clusters own. They have a
// separate cache of the metadata of objects with members' labels, because other
// controllers watch other pods.
func owned(m manager.Manager, namespace string) ([]source.Source, error) {
	var namespaces map[string]cache.Config
	if namespace != "" {
		namespaces = map[string]cache.Config{namespace: {}}
	}
	own, err := cache.New(m.GetConfig(), cache.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(),
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{wellknown.LabelEtcdApp: "etcd"}),
		DefaultNamespaces:    namespaces,
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("watching what clusters own: %w", err)
	}
	if err := m.Add(own); err != nil {
		return nil, err
	}
	var sources []source.Source
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		corev1.SchemeGroupVersion.WithKind("Service"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(kind)
		owner := handler.TypedEnqueueRequestForOwner[*metav1.PartialObjectMetadata](
			m.GetScheme(), m.GetRESTMapper(), &etcdv1beta2.EtcdCluster{}, handler.OnlyControllerOwner())
		sources = append(sources, source.Kind(own, o, owner))
	}
	return sources, nil
}
