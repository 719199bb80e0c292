package registration

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// errOwnerGone is the reason why usher registers nothing until its owner is
// back.
var errOwnerGone = errors.New("install usher again, or delete its Deployment")

// An owner is the ClusterRole that owns the webhook configurations. However
// usher is removed, its ClusterRole goes, and the garbage collector deletes the
// configurations along with it. A nil owner means that nothing owns them.
type owner struct {
	name   string
	stored toolscache.Store
	synced func() bool
	// failure is why the ClusterRole could not be read.
	failure atomic.Pointer[error]
}

// watchOwner watches the owner until ctx ends, and signals its changes as those
// of the declarations.
func (r *Registrar) watchOwner(ctx context.Context) (*owner, error) {
	if r.Owner == "" {
		return nil, nil
	}
	o := &owner{name: r.Owner}
	informer, err := r.watch(ctx, rbacv1.SchemeGroupVersion.WithResource("clusterroles"), o.name, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { r.Changed() }, UpdateFunc: func(any, any) { r.Changed() }, DeleteFunc: func(any) { r.Changed() },
	}, func(err error) { o.failure.Store(&err) })
	if err != nil {
		return nil, err
	}
	o.stored, o.synced = informer.GetStore(), informer.HasSynced
	return o, nil
}

// references returns the references to the owner. They never block its deletion:
// that would need more rights.
func (o *owner) references() ([]metav1.OwnerReference, error) {
	if o == nil {
		return nil, nil
	}
	if !o.synced() {
		err := errors.New("it was not read yet")
		if failure := o.failure.Load(); failure != nil {
			err = *failure
		}
		return nil, fmt.Errorf("reading the ClusterRole %s, which owns the webhook configurations: %w", o.name, err)
	}
	stored := o.stored.List()
	if len(stored) == 0 {
		return nil, fmt.Errorf("the ClusterRole %s, which owns the webhook configurations, does not exist: %w", o.name, errOwnerGone)
	}
	role, err := meta.Accessor(stored[0]) // the only one of that name
	if err != nil {
		return nil, fmt.Errorf("reading the ClusterRole %s, which owns the webhook configurations: %w", o.name, err)
	}
	if role.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("the ClusterRole %s, which owns the webhook configurations, is being deleted: %w", o.name, errOwnerGone)
	}
	return []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: o.name, UID: role.GetUID()}}, nil
}
