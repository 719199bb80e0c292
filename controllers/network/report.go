package network

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// Reasons of the conditions, and of the Events on a Network, in addition to
// those of package backend.
const (
	// ReasonMade: the network matches the spec.
	ReasonMade = "NetworkMade"
	// ReasonAttached: something uses the network.
	ReasonAttached = "Attached"
	// ReasonFree: the network is not in use.
	ReasonFree = "NothingAttached"
	// ReasonOrphaned: the network stays in the backend, and the Network is deleted.
	ReasonOrphaned = "NetworkOrphaned"
	// ReasonDeleted: the network is removed, along with the Network.
	ReasonDeleted = "NetworkDeleted"
)

// report writes the result into a Network's status and returns when to check
// again.
func (c *Controller) report(ctx context.Context, n *samplecrdv1.Network, o outcome) (reconcile.Result, error) {
	if o.made != nil && o.made.Change != backend.Unchanged {
		c.events.Eventf(n, nil, corev1.EventTypeNormal, "Network"+string(o.made.Change), "Ensure",
			"the network is %s, its gateway %s", o.made.Prefix, orNone(o.made.GatewayText()))
	}
	if o.err != nil && backend.ReasonOf(o.err) == backend.Conflict {
		return reconcile.Result{}, o.err // nothing to report yet
	}
	before := n.DeepCopy()
	describe(&n.Status, n.Generation, c.options.Backend.Name(), o)
	if !reflect.DeepEqual(before.Status, n.Status) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.client.Status().Patch(ctx, n, patch); err != nil {
			return requeue(fmt.Errorf("writing the status: %w", err))
		}
		c.warn(before, n)
	}
	c.metrics.observe(n)
	return c.next(o)
}

// next returns when to check a Network again. An error requeues with back-off.
func (c *Controller) next(o outcome) (reconcile.Result, error) {
	if o.err == nil {
		return reconcile.Result{RequeueAfter: c.options.Resync}, nil
	}
	switch reason := backend.ReasonOf(o.err); {
	case reason.Terminal():
		return reconcile.Result{}, nil
	case backend.AfterOf(o.err) > 0:
		return reconcile.Result{RequeueAfter: backend.AfterOf(o.err)}, nil
	case reason == backend.InUse && c.options.Resync == 0:
		return reconcile.Result{}, nil // Watch reports changes
	case reason == backend.InUse:
		return reconcile.Result{RequeueAfter: c.options.Resync}, nil
	case reason.Slow():
		return reconcile.Result{RequeueAfter: c.options.RetryAfter}, nil
	}
	return reconcile.Result{}, o.err
}

// describe sets the result in a Network's status. It only changes what is
// different, so that a condition keeps its time.
func describe(s *samplecrdv1.NetworkStatus, generation int64, name string, o outcome) {
	s.ObservedGeneration = generation
	if o.made != nil {
		s.CIDR, s.Gateway, s.Backend, s.Resources = o.made.Prefix.String(), o.made.GatewayText(), name, o.made.Resources
	}
	ready := metav1.Condition{Type: samplecrdv1.Ready, Status: metav1.ConditionTrue, Reason: ReasonMade, Message: "the network exists as the spec asks"}
	if o.note != "" {
		ready.Message = bounded(ready.Message + "; " + o.note)
	}
	if o.err != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(backend.ReasonOf(o.err)), bounded(o.err.Error())
	}
	// The users of the network change often: name them only if they block a
	// change.
	used := metav1.Condition{Type: samplecrdv1.InUse, Status: metav1.ConditionFalse, Reason: ReasonFree, Message: "the network is not in use"}
	if len(o.users) > 0 {
		used.Status, used.Reason, used.Message = metav1.ConditionTrue, ReasonAttached, "the network is in use: its range cannot change, and it cannot be deleted"
	}
	ready.ObservedGeneration, used.ObservedGeneration = generation, generation
	meta.SetStatusCondition(&s.Conditions, ready)
	if o.users != nil || meta.FindStatusCondition(s.Conditions, samplecrdv1.InUse) == nil && o.made != nil {
		meta.SetStatusCondition(&s.Conditions, used)
	}
}

// warn records an Event if the reason why a Network is not ready changed.
func (c *Controller) warn(before, n *samplecrdv1.Network) {
	is, was := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.Ready), meta.FindStatusCondition(before.Status.Conditions, samplecrdv1.Ready)
	if is.Status != metav1.ConditionTrue && (was == nil || was.Reason != is.Reason || was.ObservedGeneration != is.ObservedGeneration) {
		c.events.Eventf(n, nil, corev1.EventTypeWarning, is.Reason, "Ensure", "%s", is.Message)
	}
}

func orNone(gateway string) string {
	if gateway == "" {
		return "none"
	}
	return gateway
}

// bounded truncates a message to the limits of a condition and an Event.
func bounded(message string) string {
	const most = 1000
	if len(message) > most {
		return message[:most-3] + "..."
	}
	return message
}
