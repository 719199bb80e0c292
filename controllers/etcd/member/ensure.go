package member

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd/plan"
)

// ErrForeign means that an object of another owner has a name that the cluster
// needs.
var ErrForeign = errors.New("exists and does not belong to the cluster: delete it, or give the cluster another name")

// errOrphan means that the object belongs to a former cluster of the name, which
// was deleted without its objects.
var errOrphan = fmt.Errorf("%w; a former cluster of this name left it behind: to take over its members with their data, write the annotation %s: %q",
	ErrForeign, wellknown.AnnotationEtcdRetained, plan.AdoptClaims)

// A Writer writes the objects of a cluster's members.
type Writer struct {
	Client client.Client
	// Reader reads from the API server.
	Reader client.Reader
}

// ensure creates an object, or updates it as mutate says; it does not write an
// unchanged one.
func (w Writer) ensure(ctx context.Context, d *Desired, o client.Object, mutate func()) error {
	err := w.Reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		o.SetOwnerReferences(OwnedBy(d.Cluster))
		mutate()
		return w.Client.Create(ctx, o)
	}
	if err != nil {
		return err
	}
	was := o.DeepCopyObject()
	switch {
	case metav1.IsControlledBy(o, d.Cluster):
	case !Orphaned(o, d.Cluster.Name):
		return fmt.Errorf("%s %w", o.GetName(), ErrForeign)
	case d.Cluster.Annotations[wellknown.AnnotationEtcdRetained] != string(plan.AdoptClaims):
		return fmt.Errorf("%s %w", o.GetName(), errOrphan)
	default:
		o.SetOwnerReferences(OwnedBy(d.Cluster))
	}
	mutate()
	if reflect.DeepEqual(was, o) {
		return nil
	}
	return w.Client.Update(ctx, o)
}

// Orphaned reports whether an object belonged to a cluster of that name that was
// deleted without its objects, as by kubectl delete --cascade=orphan.
func Orphaned(o client.Object, cluster string) bool {
	return metav1.GetControllerOf(o) == nil && labels.SelectorFromSet(LabelsOf(cluster)).Matches(labels.Set(o.GetLabels()))
}
