package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/usher-dev/usher/api/wellknown"
)

// errNamespaceEnds is the reason why usher removes its registration.
var errNamespaceEnds = errors.New("usher is being removed")

// lastLook is how long a replica that ends may take to remove the registration.
const lastLook = 2 * time.Second

// resources are the two kinds of webhook configurations.
var resources = []schema.GroupVersionResource{
	admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"),
	admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"),
}

// removeWithNamespace removes the registration as soon as usher's own namespace
// is being deleted: otherwise the API server would refuse requests because of a
// webhook that no longer exists. Every replica does so, not only the holder of
// the Lease, which may already be gone. It is safe because no replica registers
// any more: each reads the namespace before it does. A replica that ends looks
// once more, in case it missed the event.
func (r *Registrar) removeWithNamespace(ctx context.Context) {
	ends := make(chan struct{}, 1)
	notice := func(object any) {
		if namespace, err := meta.Accessor(object); err == nil && namespace.GetDeletionTimestamp() != nil {
			wake(ends)
		}
	}
	handler := toolscache.ResourceEventHandlerFuncs{AddFunc: notice, UpdateFunc: func(_, object any) { notice(object) }}
	// Without a watch the last look remains.
	if _, err := r.watch(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), r.Election.Namespace, handler, func(error) {}); err != nil {
		r.Log.Error(err, "cannot watch usher's namespace")
	}
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			r.removeIfNamespaceEnds(last)
			return
		case <-ends:
			_ = backoff().Until(ctx, true, false, func(ctx context.Context) (bool, error) { return r.removeIfNamespaceEnds(ctx), nil })
		}
	}
}

// removeIfNamespaceEnds removes the registration if usher's own namespace is
// being deleted, and reports whether that is done.
func (r *Registrar) removeIfNamespaceEnds(ctx context.Context) (done bool) {
	err := r.namespaceEnds(ctx)
	if err == nil || errors.Is(err, errNamespaceEnds) {
		return true
	}
	r.Log.Info("cannot look whether usher is being removed", "error", err.Error())
	return false
}

// namespaceEnds removes the registration and returns errNamespaceEnds if usher's
// own namespace is being deleted. It asks the API server, because another
// replica may know of the deletion before this one does.
func (r *Registrar) namespaceEnds(ctx context.Context) error {
	name := r.Election.Namespace
	namespace, err := r.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the namespace %s: %w", name, err)
	}
	if namespace.DeletionTimestamp == nil {
		return nil
	}
	for _, resource := range resources {
		if err := r.remove(ctx, resource); err != nil {
			return err
		}
	}
	return fmt.Errorf("the namespace %s is being deleted: %w", name, errNamespaceEnds)
}

// remove deletes a webhook configuration of this installation.
func (r *Registrar) remove(ctx context.Context, resource schema.GroupVersionResource) error {
	configurations := r.Metadata.Resource(resource)
	registered, err := configurations.Get(ctx, r.Configuration, metav1.GetOptions{})
	if err == nil && wellknown.BelongsTo(r.Election.Namespace, registered.GetName(), registered.GetLabels()) {
		if err = configurations.Delete(ctx, r.Configuration, *metav1.NewPreconditionDeleteOptions(string(registered.UID))); err == nil {
			r.Log.Info("removed the registration, because usher's namespace is being deleted", "resource", resource.Resource, "configuration", r.Configuration)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil // another replica was faster
	}
	if err != nil {
		return fmt.Errorf("removing the %s %s: %w", resource.Resource, r.Configuration, err)
	}
	return nil
}
