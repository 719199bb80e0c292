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

// Reasons of the conditions, and of the Events on a Network, beside those of
// package backend.
const (
	// ReasonMade: the network exists as the spec asks.
	ReasonMade = "NetworkMade"
	// ReasonAttached: something uses the network.
	ReasonAttached = "Attached"
	// ReasonFree: nothing does.
	ReasonFree = "NothingAttached"
	// ReasonDeleted: what was made is gone, and the Network with it.
	ReasonDeleted = "NetworkDeleted"
)

// report writes what became of a Network into its status and says when to look
// again.
func (c *Controller) report(ctx context.Context, n *samplecrdv1.Network, o outcome) (reconcile.Result, error) {
	if o.made != nil && o.made.Change != backend.Unchanged {
		c.events.Eventf(n, nil, corev1.EventTypeNormal, "Network"+string(o.made.Change), "Ensure",
			"the network is %s, its gateway %s", o.made.Prefix, orNone(o.made.GatewayText()))
	}
	if o.err != nil && backend.ReasonOf(o.err) == backend.Conflict {
		return reconcile.Result{}, o.err // not yet anything to say
	}
	before := n.DeepCopy()
	describe(&n.Status, n.Generation, c.options.Backend.Name(), o)
	if !reflect.DeepEqual(before.Status, n.Status) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.client.Status().Patch(ctx, n, patch); err != nil {
			return again(fmt.Errorf("writing the status: %w", err))
		}
		c.warn(before, n)
	}
	c.metrics.observe(n)
	return c.next(o)
}

// next says when to look at a Network again. An error has the queue try again,
// ever more slowly.
func (c *Controller) next(o outcome) (reconcile.Result, error) {
	if o.err == nil {
		return reconcile.Result{RequeueAfter: c.options.Resync}, nil
	}
	switch reason := backend.ReasonOf(o.err); {
	case reason.Terminal():
		return reconcile.Result{}, nil
	case reason == backend.InUse && c.options.Resync == 0:
		return reconcile.Result{}, nil // Watch tells when that changes
	case reason == backend.InUse:
		return reconcile.Result{RequeueAfter: c.options.Resync}, nil
	case reason.Slow():
		return reconcile.Result{RequeueAfter: c.options.Patience}, nil
	}
	return reconcile.Result{}, o.err
}

// describe puts what became of a Network into its status. It changes what
// changed alone, so that a condition keeps its time while it holds.
func describe(s *samplecrdv1.NetworkStatus, generation int64, name string, o outcome) {
	s.ObservedGeneration = generation
	if o.made != nil {
		s.CIDR, s.Gateway, s.Backend, s.Resources = o.made.Prefix.String(), o.made.GatewayText(), name, o.made.Resources
	}
	ready := metav1.Condition{Type: samplecrdv1.Ready, Status: metav1.ConditionTrue, Reason: ReasonMade, Message: "the network exists as the spec asks"}
	if o.err != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(backend.ReasonOf(o.err)), bounded(o.err.Error())
	}
	// Who uses the network comes and goes: it is named where it is in the way.
	used := metav1.Condition{Type: samplecrdv1.InUse, Status: metav1.ConditionFalse, Reason: ReasonFree, Message: "nothing uses the network"}
	if len(o.users) > 0 {
		used.Status, used.Reason, used.Message = metav1.ConditionTrue, ReasonAttached, "the network is in use: its range cannot change, nor can it be deleted"
	}
	ready.ObservedGeneration, used.ObservedGeneration = generation, generation
	meta.SetStatusCondition(&s.Conditions, ready)
	if o.users != nil || meta.FindStatusCondition(s.Conditions, samplecrdv1.InUse) == nil && o.made != nil {
		meta.SetStatusCondition(&s.Conditions, used)
	}
}

// warn writes an Event where the Network is not ready for another reason than
// before.
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

// bounded cuts a message to what a condition and an Event take.
func bounded(message string) string {
	const most = 1000
	if len(message) > most {
		return message[:most-3] + "..."
	}
	return message
}
