package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/policies/related"
)

// A RelatedCache stores the kinds that rules compare with every workload, and
// of each object only what these rules read: a few hundred bytes. It is
// milliseconds behind the API server, so usher verifies a finding that depends
// on it there before it denies.
type RelatedCache struct {
	mu      sync.RWMutex
	indexes map[listKey]*related.Index
	synced  map[string]toolscache.InformerSynced // by kind
}

// noObjects is the index of a namespace without objects.
var noObjects = &related.Index{}

// relatedKinds are the stored kinds.
func relatedKinds() map[string]client.Object {
	return map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
	}
}

// A trimmed is the stored part of an object.
type trimmed struct {
	related.Object
	namespace, resourceVersion string
}

// GetObjectMeta implements metav1.ObjectMetaAccessor: it has what informers read.
func (t *trimmed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: t.namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.resourceVersion}
}

// GetObjectKind implements runtime.Object.
func (t *trimmed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (t *trimmed) DeepCopyObject() runtime.Object {
	kept := *t
	kept.Pods = slices.Clone(t.Pods)
	return &kept
}

// trim keeps a workload's name and its pods' labels, and an autoscaler's name
// and target.
func trim(object any) any {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return trimWorkload(&o.ObjectMeta, o.Spec.Template.Labels)
	case *appsv1.StatefulSet:
		return trimWorkload(&o.ObjectMeta, o.Spec.Template.Labels)
	case *appsv1.DaemonSet:
		return trimWorkload(&o.ObjectMeta, o.Spec.Template.Labels)
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept := trimMeta(&o.ObjectMeta)
		kept.Scales = related.Target{Kind: o.Spec.ScaleTargetRef.Kind, Name: o.Spec.ScaleTargetRef.Name}
		return kept
	}
	return object // a tombstone, or already trimmed
}

func trimMeta(of *metav1.ObjectMeta) *trimmed {
	return &trimmed{Object: related.Object{Name: of.Name, UID: of.UID}, namespace: of.Namespace, resourceVersion: of.ResourceVersion}
}

func trimWorkload(of *metav1.ObjectMeta, labels map[string]string) *trimmed {
	kept := trimMeta(of)
	kept.Pods = related.LabelsOf(labels)
	return kept
}

// Follow caches the cluster's objects from now on. If a kind cannot be watched,
// it retries, and until then every lookup reads.
func (r *RelatedCache) Follow(ctx context.Context, c cache.Cache, log logr.Logger) {
	for kind, object := range relatedKinds() {
		_ = wait.PollUntilContextCancel(ctx, time.Minute, true, func(ctx context.Context) (bool, error) {
			err := r.follow(ctx, c, kind, object)
			if err != nil {
				log.Error(err, "cannot watch, and reads it for each request", "kind", kind)
			}
			return err == nil, nil
		})
	}
}

func (r *RelatedCache) follow(ctx context.Context, c cache.Cache, kind string, object client.Object) error {
	informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { r.put(kind, o) }, UpdateFunc: func(_, o any) { r.put(kind, o) }, DeleteFunc: func(o any) { r.delete(kind, o) },
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.synced == nil {
		r.synced = map[string]toolscache.InformerSynced{}
	}
	r.synced[kind] = handler.HasSynced
	return nil
}

func (r *RelatedCache) put(kind string, object any) {
	kept, ok := object.(*trimmed)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.indexes == nil {
		r.indexes = map[listKey]*related.Index{}
	}
	at := listKey{kind, kept.namespace}
	if r.indexes[at] == nil {
		r.indexes[at] = &related.Index{}
	}
	r.indexes[at].Put(&kept.Object)
}

func (r *RelatedCache) delete(kind string, object any) {
	key, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := listKey{kind, key.Namespace}
	if x := r.indexes[at]; x != nil && x.Delete(key.Name) {
		delete(r.indexes, at)
	}
}

// keeps reports whether all objects of a kind are cached.
func (r *RelatedCache) keeps(kind string) bool {
	r.mu.RLock()
	synced := r.synced[kind]
	r.mu.RUnlock()
	return synced != nil && synced()
}

// has reports whether the cache has an object of a cached kind.
func (r *RelatedCache) has(key listKey, name string, uid types.UID) bool {
	x, ok := r.index(key)
	if !ok {
		return false
	}
	o := x.Named(name)
	return o != nil && o.UID == uid
}

// index returns the index of a kind in a namespace, or false if the kind is not
// cached.
func (r *RelatedCache) index(at listKey) (*related.Index, bool) {
	if !r.keeps(at.kind) {
		return nil, false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if x := r.indexes[at]; x != nil {
		return x, true
	}
	return noObjects, true
}
