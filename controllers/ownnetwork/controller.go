// Package ownnetwork creates the Network that a Deployment asks for, with the
// Deployment's name and a range of addresses that no other has. The webhook
// declares it in the pod template; the controller never edits the Deployment
// except its status, which reports the progress.
//
// The uniqueness of ranges does not depend on leader election: the controller
// allocates a range by creating an object with the range's name, and the API
// server allows that only once.
//
//	pool       the ranges, from usher's configuration
//	claim      the object by which a range is taken
//	index      which ranges are in use, from informers
//	allocate   which range, and whose it is already
//	make       the Network, owned by the Deployment and freed with it
//	condition  what the Deployment and its pods report
package ownnetwork

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/network"
)

// retryAfter is how soon to retry if a person has to act, or a range must become
// free.
const retryAfter = 10 * time.Second

// workers is how many Deployments to reconcile at once. The index gives each
// another range.
const workers = 4

// Cache limits the cache to the claims in usher's own namespace.
func Cache(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{namespace: {LabelSelector: claimLabels.AsSelector()}}},
	}
}

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{
		corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, metav1.AddMetaToScheme, samplecrdv1.AddToScheme,
	}).AddToScheme(s)
}

// A Controller reconciles the own Networks of Deployments.
type Controller struct {
	client client.Client
	// live reads from the API server: a stale cache does not show who holds a
	// range.
	live   client.Reader
	events events.EventRecorder
	// index is filled from the cache before a worker begins.
	index *index
	cache cache.Cache
	// namespace is usher's own namespace.
	namespace string
}

// New returns the controller for that manager's cluster; namespace is usher's
// own.
func New(m manager.Manager, namespace string) *Controller {
	return &Controller{
		client: m.GetClient(), live: m.GetAPIReader(), events: m.GetEventRecorder("usher-ownnetwork"),
		index: newIndex(), cache: m.GetCache(), namespace: namespace,
	}
}

// SetupWithManager adds the controller to the manager. A Deployment, its
// Network and the claim of its range have the same key.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		Named("ownnetwork").
		For(deployment(), builder.OnlyMetadata, builder.WithPredicates(asked())).
		Watches(&samplecrdv1.Network{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(cameOrWent())).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(holderOf), builder.WithPredicates(foundOrWent())).
		WatchesRawSource(source.Func(c.follow)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(c)
}

// Reconcile reconciles one Deployment's Network.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d := deployment()
	if err := c.client.Get(ctx, req.NamespacedName, d); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if !wants(d) {
		return reconcile.Result{}, c.release(ctx, req.NamespacedName, d)
	}
	existing := &samplecrdv1.Network{}
	err := c.client.Get(ctx, req.NamespacedName, existing)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil {
		return c.provide(ctx, d)
	}
	if state := stateOf(existing, d); state.reason != network.OwnMade {
		return reconcile.Result{RequeueAfter: retryAfter}, c.setCondition(ctx, d, state)
	}
	if err := c.keep(ctx, existing); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.setCondition(ctx, d, made(existing))
}

// wants reports whether a Deployment exists and asks. The webhook does not
// change one with a controller, which therefore declares nothing.
func wants(d *metav1.PartialObjectMetadata) bool {
	return d.UID != "" && d.DeletionTimestamp == nil && d.Annotations[wellknown.OwnNetwork] == "true" && metav1.GetControllerOf(d) == nil
}

// asked ignores the Deployments that never asked.
func asked() predicate.Predicate {
	asks := func(o client.Object) bool { return o.GetAnnotations()[wellknown.OwnNetwork] == "true" }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return asks(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return asks(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return asks(e.ObjectOld) != asks(e.ObjectNew) || asks(e.ObjectNew) && (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
		},
	}
}

// cameOrWent ignores everything but the creation and deletion of a Network.
func cameOrWent() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
		},
	})
}

// foundOrWent accepts the claims that exist at the start, and deletions: a
// Deployment and its Network may have been deleted while the controller was
// down, and somebody may delete the claim of an existing Network.
func foundOrWent() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.IsInInitialList },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// holderOf returns the Deployment of a claim.
func holderOf(_ context.Context, o client.Object) []reconcile.Request {
	if lease, ok := o.(*coordinationv1.Lease); ok {
		if claim, ok := readClaim(lease); ok {
			return []reconcile.Request{{NamespacedName: claim.holder}}
		}
	}
	return nil
}

// follow fills the index and keeps it up to date. It returns once the index is
// complete.
func (c *Controller) follow(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&coordinationv1.Lease{}: c.index.leases(), &samplecrdv1.Network{}: c.index.networksOf(),
	} {
		informer, err := c.cache.GetInformer(ctx, object)
		if err != nil {
			return err
		}
		following, err := informer.AddEventHandler(handler)
		if err != nil {
			return err
		}
		if !toolscache.WaitForCacheSync(ctx.Done(), following.HasSynced) {
			return ctx.Err()
		}
	}
	return nil
}

// deployment returns an empty one, for a cache of only the metadata.
func deployment() *metav1.PartialObjectMetadata {
	d := &metav1.PartialObjectMetadata{}
	d.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return d
}

func keyOf(d *metav1.PartialObjectMetadata) types.NamespacedName {
	return client.ObjectKeyFromObject(d)
}
