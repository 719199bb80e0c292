package member

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errForeign means that an object of another owner has a name that the cluster
// needs.
var errForeign = errors.New("exists and does not belong to the cluster: rename it, or the cluster")

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
	if !metav1.IsControlledBy(o, d.Cluster) {
		return fmt.Errorf("%s %w", o.GetName(), errForeign)
	}
	was := o.DeepCopyObject()
	mutate()
	if reflect.DeepEqual(was, o) {
		return nil
	}
	return w.Client.Update(ctx, o)
}
