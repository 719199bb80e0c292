package cluster

import (
	"context"
	"maps"
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

	"github.com/usher-dev/usher/policies"
)

// A RelatedCache stores the kinds that rules compare with every workload, and
// of each object only the fields that these rules read: about a kilobyte. It is
// milliseconds behind the API server, so usher verifies a finding that depends
// on it there before it denies.
type RelatedCache struct {
	mu      sync.RWMutex
	objects map[listKey]map[string]*policies.Object
	synced  map[string]toolscache.InformerSynced // by kind
}

// relatedKinds are the stored kinds.
func relatedKinds() map[string]client.Object {
	return map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
	}
}

// A trimmed is the stored part of an object.
type trimmed struct {
	metav1.ObjectMeta
	object *policies.Object
}

// GetObjectKind implements runtime.Object.
func (t *trimmed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (t *trimmed) DeepCopyObject() runtime.Object {
	object := *t.object
	return &trimmed{*t.DeepCopy(), &object}
}

// trim keeps a workload's name and its pods' labels, and an autoscaler's name
// and target.
func trim(object any) any {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return trimWorkload("Deployment", &o.ObjectMeta, o.Spec.Template.Labels)
	case *appsv1.StatefulSet:
		return trimWorkload("StatefulSet", &o.ObjectMeta, o.Spec.Template.Labels)
	case *appsv1.DaemonSet:
		return trimWorkload("DaemonSet", &o.ObjectMeta, o.Spec.Template.Labels)
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept := trimMeta(&o.ObjectMeta)
		kept.object = policies.NewObject(autoscalingv2.SchemeGroupVersion.String(), "HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: kept.ObjectMeta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: o.Spec.ScaleTargetRef},
		})
		return kept
	}
	return object // a tombstone, or already trimmed
}

func trimMeta(of *metav1.ObjectMeta) *trimmed {
	return &trimmed{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion}}
}

func trimWorkload(kind string, of *metav1.ObjectMeta, labels map[string]string) *trimmed {
	kept := trimMeta(of)
	kept.object = &policies.Object{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Meta: &kept.ObjectMeta,
		Templates: []policies.PodTemplate{{Meta: &metav1.ObjectMeta{Labels: labels}}},
	}
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
	if r.objects == nil {
		r.objects = map[listKey]map[string]*policies.Object{}
	}
	at := listKey{kind, kept.Namespace}
	if r.objects[at] == nil {
		r.objects[at] = map[string]*policies.Object{}
	}
	r.objects[at][kept.Name] = kept.object
}

func (r *RelatedCache) delete(kind string, object any) {
	key, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := listKey{kind, key.Namespace}
	delete(r.objects[at], key.Name)
	if len(r.objects[at]) == 0 {
		delete(r.objects, at)
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
	if !r.keeps(key.kind) {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	o := r.objects[key][name]
	return o != nil && o.Meta.UID == uid
}

// known returns the objects of a kind in a namespace, or false if the kind is
// not cached.
func (r *RelatedCache) known(at listKey) ([]*policies.Object, bool) {
	if !r.keeps(at.kind) {
		return nil, false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.objects[at])), true
}
