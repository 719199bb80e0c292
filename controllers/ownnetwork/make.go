package ownnetwork

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/network/subnet"
)

// errLost means that a range was released while it was about to be used.
var errLost = errors.New("another Network has taken the range in the meantime")

// provide allocates a range and creates the Network with it.
func (c *Controller) provide(ctx context.Context, d *metav1.PartialObjectMetadata) (reconcile.Result, error) {
	pool, why, err := c.pool(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if why != nil {
		return reconcile.Result{RequeueAfter: retryAfter}, c.setCondition(ctx, d, *why)
	}
	part, found, err := c.allocate(ctx, keyOf(d), pool)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found {
		exhausted := state{network.OwnPool, fmt.Sprintf("the pool %s of usher's configuration (networks.pool) is exhausted: enlarge it, or remove Networks in it", pool)}
		return reconcile.Result{RequeueAfter: retryAfter}, c.setCondition(ctx, d, exhausted)
	}
	created, err := c.create(ctx, d, part)
	if apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, nil // the cache will report it
	}
	if apierrors.IsForbidden(err) { // such as by admission, for a range of the cluster itself
		refused := state{network.OwnPool, fmt.Sprintf("the pool %s of usher's configuration (networks.pool) has a range that is refused: %v", pool, err)}
		return reconcile.Result{RequeueAfter: retryAfter}, c.setCondition(ctx, d, refused)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.setCondition(ctx, d, made(created))
}

// create creates the Network. A controller that saw neither Deployment nor
// Network can free a claim, so create checks it again once the Network exists.
func (c *Controller) create(ctx context.Context, d *metav1.PartialObjectMetadata, part subnet.Subnet) (*samplecrdv1.Network, error) {
	network := &samplecrdv1.Network{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name, Labels: claimLabels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: new(true),
			}},
		},
		Spec: samplecrdv1.NetworkSpec{CIDR: part.Prefix.String(), Gateway: part.GatewayText()},
	}
	if err := c.client.Create(ctx, network); err != nil {
		return nil, fmt.Errorf("creating the Network %s/%s: %w", d.Namespace, d.Name, err)
	}
	mine, err := c.holds(ctx, part.Prefix, keyOf(d))
	if err != nil || mine {
		return network, err
	}
	if err := c.client.Delete(ctx, network, client.Preconditions{UID: &network.UID}); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	return nil, fmt.Errorf("creating the Network %s/%s: %w", d.Namespace, d.Name, errLost)
}

// keep keeps the claim of a Network's range, and no other for it.
func (c *Controller) keep(ctx context.Context, n *samplecrdv1.Network) error {
	prefix, err := subnet.ParseCIDR(n.Spec.CIDR)
	if err != nil {
		return nil // somebody edited it; the rules report it
	}
	holder := client.ObjectKeyFromObject(n)
	held := false
	for _, claim := range c.index.of(holder) {
		if claim.prefix == prefix {
			held = true
		} else if err := c.free(ctx, claim); err != nil {
			return err
		}
	}
	if held {
		return nil
	}
	_, err = c.take(ctx, prefix, holder) // it may be another holder's: somebody edited it
	return err
}

// release releases the range of a Deployment that was deleted or no longer
// asks, once its Network is gone.
func (c *Controller) release(ctx context.Context, holder types.NamespacedName, d *metav1.PartialObjectMetadata) error {
	if err := c.forget(ctx, d); err != nil {
		return err
	}
	claims := c.index.of(holder)
	if len(claims) == 0 {
		return nil
	}
	now := deployment()
	for _, object := range []client.Object{now, &samplecrdv1.Network{}} {
		err := c.live.Get(ctx, holder, object)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && (object != client.Object(now) || wants(now)) {
			return nil // its deletion causes an event
		}
	}
	for _, claim := range claims {
		if err := c.free(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}
