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

// errForeign tells that somebody else's object has a name the cluster needs.
var errForeign = errors.New("is there and is not the cluster's: rename it, or the cluster")

// ensure makes an object as mutate says, or makes it as it should be; one that
// is so already is not written.
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
