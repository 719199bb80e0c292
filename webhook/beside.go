package webhook

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
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/policies"
)

// Beside keeps, of the kinds that rules look at beside every workload, the few
// fields that these rules read: about a kilobyte an object. It follows the API
// server by milliseconds, so that what is denied for it is looked at again
// there.
type Beside struct {
	mu      sync.RWMutex
	objects map[place]map[string]*policies.Object
	synced  map[string]toolscache.InformerSynced // by kind
}

// besideKinds are the kinds that are kept.
func besideKinds() map[string]client.Object {
	return map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "StatefulSet": &appsv1.StatefulSet{}, "DaemonSet": &appsv1.DaemonSet{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
	}
}

// A glimpse is what is kept of an object.
type glimpse struct {
	metav1.ObjectMeta
	object *policies.Object
}

// strip makes a glimpse of an object: a workload's name and its pods' labels,
// an autoscaler's name and target.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return workloadGlimpse("Deployment", &o.ObjectMeta, o.Spec.Template.Labels), nil
	case *appsv1.StatefulSet:
		return workloadGlimpse("StatefulSet", &o.ObjectMeta, o.Spec.Template.Labels), nil
	case *appsv1.DaemonSet:
		return workloadGlimpse("DaemonSet", &o.ObjectMeta, o.Spec.Template.Labels), nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		g := newGlimpse(&o.ObjectMeta)
		g.object = policies.NewObject(autoscalingv2.SchemeGroupVersion.String(), "HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: g.ObjectMeta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: o.Spec.ScaleTargetRef},
		})
		return g, nil
	}
	return object, nil // a tombstone, or a glimpse already
}

func newGlimpse(of *metav1.ObjectMeta) *glimpse {
	return &glimpse{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion}}
}

func workloadGlimpse(kind string, of *metav1.ObjectMeta, labels map[string]string) *glimpse {
	g := newGlimpse(of)
	g.object = &policies.Object{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Meta: &g.ObjectMeta,
		Templates: []policies.PodTemplate{{Meta: &metav1.ObjectMeta{Labels: labels}}},
	}
	return g
}

// Follow keeps what is in the cluster from now on. A kind that cannot be watched
// is tried again, and read when it is asked for until then.
func (b *Beside) Follow(ctx context.Context, c cache.Cache, log logr.Logger) {
	for kind, object := range besideKinds() {
		_ = wait.PollUntilContextCancel(ctx, time.Minute, true, func(ctx context.Context) (bool, error) {
			err := b.follow(ctx, c, kind, object)
			if err != nil {
				log.Error(err, "cannot watch, and reads it for each request", "kind", kind)
			}
			return err == nil, nil
		})
	}
}

func (b *Beside) follow(ctx context.Context, c cache.Cache, kind string, object client.Object) error {
	informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { b.put(kind, o) }, UpdateFunc: func(_, o any) { b.put(kind, o) }, DeleteFunc: func(o any) { b.delete(kind, o) },
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.synced == nil {
		b.synced = map[string]toolscache.InformerSynced{}
	}
	b.synced[kind] = handler.HasSynced
	return nil
}

func (b *Beside) put(kind string, object any) {
	g, ok := object.(*glimpse)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects == nil {
		b.objects = map[place]map[string]*policies.Object{}
	}
	at := place{kind, g.Namespace}
	if b.objects[at] == nil {
		b.objects[at] = map[string]*policies.Object{}
	}
	b.objects[at][g.Name] = g.object
}

func (b *Beside) delete(kind string, object any) {
	key, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := place{kind, key.Namespace}
	delete(b.objects[at], key.Name)
	if len(b.objects[at]) == 0 {
		delete(b.objects, at)
	}
}

// keeps reports whether all objects of a kind are known.
func (b *Beside) keeps(kind string) bool {
	b.mu.RLock()
	synced := b.synced[kind]
	b.mu.RUnlock()
	return synced != nil && synced()
}

// known returns the objects of a kind in a namespace, or false where they are
// not kept.
func (b *Beside) known(at place) ([]*policies.Object, bool) {
	if !b.keeps(at.kind) {
		return nil, false
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Values(b.objects[at])), true
}
