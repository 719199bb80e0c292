package cluster

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

// ensure creates an object, or updates it as mutate says; it does not write an
// unchanged one.
func (c *Controller) ensure(ctx context.Context, d *desired, o client.Object, mutate func()) error {
	err := c.reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		o.SetOwnerReferences(ownedBy(d.cluster))
		mutate()
		return c.client.Create(ctx, o)
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(o, d.cluster) {
		return fmt.Errorf("%s %w", o.GetName(), errForeign)
	}
	was := o.DeepCopyObject()
	mutate()
	if reflect.DeepEqual(was, o) {
		return nil
	}
	return c.client.Update(ctx, o)
}
