package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// owned watches what clusters own. It has separate caches of the metadata of
// objects with members' labels, and of claims that are set aside, because other
// controllers watch other pods.
type owned struct{ members, aside cache.Cache }

// ownedKinds are the kinds of objects with members' labels.
var ownedKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), claimKind,
	corev1.SchemeGroupVersion.WithKind("Service"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
}

var claimKind = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")

// watchOwned adds the caches to the manager.
func watchOwned(m manager.Manager, namespace string) (w owned, err error) {
	isAside, err := labels.NewRequirement(wellknown.LabelEtcdSetAside, selection.Exists, nil)
	if err != nil {
		return owned{}, err
	}
	for of, selector := range map[*cache.Cache]labels.Selector{
		&w.members: labels.SelectorFromSet(labels.Set{wellknown.LabelEtcdApp: "etcd"}), &w.aside: labels.NewSelector().Add(*isAside),
	} {
		if *of, err = newOwned(m, namespace, selector); err != nil {
			return owned{}, fmt.Errorf("watching what clusters own: %w", err)
		}
		if err := m.Add(*of); err != nil {
			return owned{}, err
		}
	}
	return w, nil
}

func newOwned(m manager.Manager, namespace string, selector labels.Selector) (cache.Cache, error) {
	var namespaces map[string]cache.Config
	if namespace != "" {
		namespaces = map[string]cache.Config{namespace: {}}
	}
	return cache.New(m.GetConfig(), cache.Options{
		HTTPClient: m.GetHTTPClient(), Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(),
		DefaultLabelSelector: selector,
		DefaultNamespaces:    namespaces,
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
}

// sources trigger the controller on changes.
func (w owned) sources(m manager.Manager) []source.Source {
	var sources []source.Source
	for _, kind := range ownedKinds {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(kind)
		owner := handler.TypedEnqueueRequestForOwner[*metav1.PartialObjectMetadata](
			m.GetScheme(), m.GetRESTMapper(), &etcdv1beta2.EtcdCluster{}, handler.OnlyControllerOwner())
		sources = append(sources, source.Kind(w.members, o, owner))
	}
	return sources
}

// asideSource triggers the controller on changes of claims that are set aside, also
// for a cluster that is deleted.
func (w owned) asideSource() source.Source {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(claimKind)
	return source.Kind(w.aside, o, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, claim *metav1.PartialObjectMetadata) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: claim.Namespace, Name: claim.Labels[wellknown.LabelEtcdSetAside]}}}
	}))
}

// versions are UIDs and resource versions, by kind and name.
type versions map[string]string

// versions returns those of a cluster's objects, as the watches have them; nil
// without watches.
func (w owned) versions(ctx context.Context, cluster types.NamespacedName) (versions, error) {
	if w.members == nil { // something else than the manager calls Reconcile
		return nil, nil
	}
	all := versions{}
	for _, kind := range ownedKinds {
		if err := all.add(ctx, w.members, kind, cluster, member.LabelsOf(cluster.Name)); err != nil {
			return nil, err
		}
	}
	return all, all.add(ctx, w.aside, claimKind, cluster, labels.Set{wellknown.LabelEtcdSetAside: cluster.Name})
}

func (v versions) add(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, cluster types.NamespacedName, with labels.Set) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := from.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels(with), client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("reading what %s owns: %w", cluster, err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		v[kind.Kind+"/"+o.Name] = string(o.UID) + "/" + o.ResourceVersion
	}
	return nil
}
