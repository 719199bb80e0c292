// Package serviceaccount grants the ServiceAccount "default" of a namespace the
// right to view the namespace, if the namespace asks for it by label.
//
// A binding to a default ServiceAccount applies to every pod that names none:
// so it is opt-in, it is limited to the built-in ClusterRole "view", which
// cannot read Secrets, and the controller may bind no other role. It never
// changes a RoleBinding that it did not create.
package serviceaccount

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/usher-dev/usher/api/wellknown"
)

// Reasons of the Events on a namespace.
const (
	// ReasonBound: the RoleBinding was created or updated.
	ReasonBound = "DefaultServiceAccountBound"
	// ReasonUnbound: the RoleBinding was removed with the label.
	ReasonUnbound = "DefaultServiceAccountUnbound"
	// ReasonForeign: a RoleBinding of another owner has the name.
	ReasonForeign = "DefaultServiceAccountBindingForeign"
	// ReasonUnknown: the label has a value other than view.
	ReasonUnknown = "DefaultServiceAccountLabelUnknown"
)

// AddToScheme adds the types that the controller reads and writes.
func AddToScheme(s *runtime.Scheme) error {
	return (&runtime.SchemeBuilder{corev1.AddToScheme, rbacv1.AddToScheme, metav1.AddMetaToScheme}).AddToScheme(s)
}

// Cache caches only the RoleBindings that the controller created.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&rbacv1.RoleBinding{}: {Label: made.AsSelector()}}
}

// A Controller reconciles the RoleBindings of labelled namespaces.
type Controller struct {
	client client.Client
	// reader reads from the API server what the cache lacks: RoleBindings of
	// others.
	reader client.Reader
	events events.EventRecorder
}

// New returns the controller for that manager's cluster.
func New(m manager.Manager) *Controller {
	return &Controller{client: m.GetClient(), reader: m.GetAPIReader(), events: m.GetEventRecorder("usher-serviceaccount")}
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(m manager.Manager) error {
	namespaceOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetNamespace()}}}
	})
	return ctrl.NewControllerManagedBy(m).
		Named("serviceaccount").
		For(namespace(), builder.OnlyMetadata, builder.WithPredicates(concerns())).
		Watches(&rbacv1.RoleBinding{}, namespaceOf).
		Complete(c)
}

// Reconcile brings the RoleBinding of one namespace to the state in its label.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ns := namespace()
	if err := c.client.Get(ctx, req.NamespacedName, ns); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err) // its RoleBindings were deleted with it
	}
	if ns.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	value, asked := ns.Labels[wellknown.LabelDefaultServiceAccount]
	if asked && value != wellknown.View {
		c.events.Eventf(ns, nil, corev1.EventTypeWarning, ReasonUnknown, "Bind", "label %s is %q: write %s, or remove the label", wellknown.LabelDefaultServiceAccount, value, wellknown.View)
	}
	if value == wellknown.View {
		return reconcile.Result{}, c.bind(ctx, ns)
	}
	return reconcile.Result{}, c.unbind(ctx, ns)
}

// bind creates the RoleBinding, or updates it.
func (c *Controller) bind(ctx context.Context, ns *metav1.PartialObjectMetadata) error {
	want := binding(ns.Name)
	is := &rbacv1.RoleBinding{}
	err := c.client.Get(ctx, client.ObjectKeyFromObject(want), is)
	switch {
	case apierrors.IsNotFound(err):
		err = c.client.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			return c.foreign(ctx, ns, want)
		}
	case err != nil:
		return err
	case same(is, want):
		return nil
	case is.RoleRef != want.RoleRef:
		// The API server does not allow changes of it.
		if err := c.client.Delete(ctx, is, client.Preconditions{UID: &is.UID}); err != nil {
			return client.IgnoreNotFound(err)
		}
		err = c.client.Create(ctx, want)
	default:
		is.Subjects = want.Subjects
		err = c.client.Update(ctx, is)
	}
	if err != nil {
		return fmt.Errorf("binding %s to the default ServiceAccount of %s: %w", wellknown.View, ns.Name, err)
	}
	c.events.Eventf(ns, nil, corev1.EventTypeNormal, ReasonBound, "Bind", "the ServiceAccount default may view the namespace")
	return nil
}

// foreign reports that a RoleBinding of another owner has the name; a stale
// cache looks the same.
func (c *Controller) foreign(ctx context.Context, ns *metav1.PartialObjectMetadata, want *rbacv1.RoleBinding) error {
	is := &rbacv1.RoleBinding{}
	if err := c.reader.Get(ctx, client.ObjectKeyFromObject(want), is); err != nil {
		return err
	}
	if ours(is) {
		return nil // the cache will report it
	}
	c.events.Eventf(ns, is, corev1.EventTypeWarning, ReasonForeign, "Bind",
		"usher did not create the RoleBinding %s and does not change it: rename it to let usher create its own", is.Name)
	return nil
}

// unbind removes the RoleBinding that bind created.
func (c *Controller) unbind(ctx context.Context, ns *metav1.PartialObjectMetadata) error {
	is := &rbacv1.RoleBinding{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(binding(ns.Name)), is); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.client.Delete(ctx, is, client.Preconditions{UID: &is.UID, ResourceVersion: &is.ResourceVersion}); err != nil {
		return client.IgnoreNotFound(err)
	}
	c.events.Eventf(ns, nil, corev1.EventTypeNormal, ReasonUnbound, "Unbind", "the ServiceAccount default may no longer view the namespace")
	return nil
}
