// Package refusals tells the owners of workloads that usher refuses their pods.
//
// A Deployment's pods are created by its ReplicaSet, and only the ReplicaSet's Events
// say that the API server refused them: `kubectl describe` of the Deployment, Argo CD
// and Flux show nothing. The controller writes an Event on the owner, such as the
// Deployment or the CronJob: the reason, and the command that says what to do. It
// reads Events, and never an admission review, which anyone in the cluster's network
// may send.
package refusals

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"golang.org/x/time/rate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// failedCreate is the reason of the Events of Kubernetes' controllers.
	failedCreate = "FailedCreate"
	// perSecond and atOnce limit the owners that are told, each with two requests.
	perSecond, atOnce = 5, 20
	// remembered is how many causes are known not to be told again.
	remembered = 4096
	// kept is how much of a note is cached, in bytes.
	kept = 2048
)

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{eventsv1.AddToScheme, metav1.AddMetaToScheme}).AddToScheme(s)
}

// Cache caches only the Events about pods and Jobs that could not be created, and of
// these only what the controller reads.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&eventsv1.Event{}: {Field: fields.OneTermEqualSelector("reason", failedCreate), Transform: trim}}
}

func trim(object any) (any, error) {
	event, ok := object.(*eventsv1.Event)
	if !ok {
		return object, nil
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: event.Namespace, Name: event.Name, UID: event.UID, ResourceVersion: event.ResourceVersion},
		EventTime:  event.EventTime, Series: event.Series, DeprecatedLastTimestamp: event.DeprecatedLastTimestamp,
		Reason: event.Reason, Regarding: event.Regarding, Note: fmt.Sprintf("%.*s", kept, event.Note),
	}, nil
}

// A Controller writes Events on owners.
type Controller struct {
	client client.Client
	// reader reads owners, of which nothing is cached.
	reader client.Reader
	clock  clock.PassiveClock
	limit  *rate.Limiter
	// told has the causes of the last hour, so that a repetition costs no request.
	told *utilcache.LRUExpireCache
}

// New returns the controller for that manager's cluster.
func New(m manager.Manager) *Controller {
	return newController(m.GetClient(), m.GetAPIReader(), clock.RealClock{})
}

func newController(c client.Client, reader client.Reader, clock clock.PassiveClock) *Controller {
	return &Controller{client: c, reader: reader, clock: clock, limit: rate.NewLimiter(perSecond, atOnce), told: utilcache.NewLRUExpireCacheWithClock(remembered, clock)}
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	return ctrl.NewControllerManagedBy(m).Named("refusals").For(&eventsv1.Event{}).Complete(c)
}

// Reconcile tells the owner of the object that an Event is about.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	event := &eventsv1.Event{}
	if err := c.client.Get(ctx, req.NamespacedName, event); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	found, ok := parse(event.Note)
	about, now := event.Regarding, c.clock.Now()
	if !ok || !creates(about) || now.Sub(last(event)) > once {
		return reconcile.Result{}, nil
	}
	cause := struct {
		about  corev1.ObjectReference
		reason string
		text   string
	}{corev1.ObjectReference{Namespace: about.Namespace, Name: about.Name, Kind: about.Kind, UID: about.UID}, found.reason, found.text}
	if _, known := c.told.Get(cause); known {
		return reconcile.Result{}, nil
	}
	if err := c.limit.Wait(ctx); err != nil {
		return reconcile.Result{}, err
	}
	owner, err := c.owner(ctx, about)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil // deleted in the meantime
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("finding the owner of %s %s/%s: %w", about.Kind, about.Namespace, about.Name, err)
	}
	err = c.client.Create(ctx, notice(owner, about, found, now))
	// A namespace that is being deleted takes no Events.
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return reconcile.Result{}, fmt.Errorf("telling %s %s/%s of a refusal: %w", owner.Kind, owner.Namespace, owner.Name, err)
	}
	c.told.Add(cause, true, once)
	return reconcile.Result{}, nil
}

// creators are the kinds whose controllers create pods or Jobs.
var creators = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "", Version: "v1", Kind: "ReplicationController"},
}

// creates reports whether an object can be the one that an Event of Kubernetes'
// controllers is about. Anyone who may create Events can write others.
func creates(about corev1.ObjectReference) bool {
	return slices.Contains(creators, schema.FromAPIVersionAndKind(about.APIVersion, about.Kind))
}

// last is when the Event was last seen, in any of the forms in which clients write
// that.
func last(event *eventsv1.Event) time.Time {
	at := event.EventTime.Time
	if t := event.DeprecatedLastTimestamp.Time; t.After(at) {
		at = t
	}
	if event.Series != nil && event.Series.LastObservedTime.After(at) {
		at = event.Series.LastObservedTime.Time
	}
	return at
}

// owner returns the controller of an object, or the object itself if it has none. One
// step is enough: a ReplicaSet belongs to a Deployment or to a kind of others, a Job
// to a CronJob.
func (c *Controller) owner(ctx context.Context, about corev1.ObjectReference) (corev1.ObjectReference, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(about.APIVersion, about.Kind))
	if err := c.reader.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, object); err != nil {
		return about, err
	}
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: about.Namespace, Name: ref.Name, UID: ref.UID}, nil
	}
	about.UID = object.UID
	return about, nil
}
