package ownnetwork

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/network"
)

// A state is the progress of a Deployment's Network: the reason and message of
// its condition.
type state struct{ reason, message string }

// stateOf returns the state of a Deployment with a Network of its name.
func stateOf(n *samplecrdv1.Network, d *metav1.PartialObjectMetadata) state {
	owner := metav1.GetControllerOf(n)
	mine := owner != nil && owner.APIVersion == appsv1.SchemeGroupVersion.String() && owner.Kind == "Deployment" && owner.Name == d.Name
	switch {
	case n.DeletionTimestamp != nil, mine && owner.UID != d.UID:
		return state{network.OwnGoing, fmt.Sprintf("the Network %s/%s is being deleted; usher recreates it afterwards", n.Namespace, n.Name)}
	case !mine:
		return state{network.OwnForeign, fmt.Sprintf("the Network %s/%s was not created for this Deployment: rename the Deployment, or remove that Network", n.Namespace, n.Name)}
	}
	return made(n)
}

func made(n *samplecrdv1.Network) state {
	return state{network.OwnMade, fmt.Sprintf("the Network %s/%s has %s", n.Namespace, n.Name, n.Spec.CIDR)}
}

// setCondition writes the state into the Deployment's status, where the admission of
// its pods reads it, and records an Event if it changed.
func (c *Controller) setCondition(ctx context.Context, d *metav1.PartialObjectMetadata, s state) error {
	now := &appsv1.Deployment{}
	if err := c.live.Get(ctx, keyOf(d), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	status, kind := corev1.ConditionFalse, corev1.EventTypeWarning
	if s.reason == network.OwnMade {
		status, kind = corev1.ConditionTrue, corev1.EventTypeNormal
	}
	condition := appsv1.DeploymentCondition{
		Type: network.OwnCondition, Status: status, Reason: s.reason, Message: s.message, LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}
	for _, was := range now.Status.Conditions {
		if was.Type != condition.Type {
			continue
		}
		if was.Status == status && was.Reason == s.reason && was.Message == s.message {
			return nil
		}
		if was.Status == status {
			condition.LastTransitionTime = was.LastTransitionTime
		}
	}
	if err := c.patch(ctx, d, condition); err != nil {
		return err
	}
	c.events.Eventf(d, nil, kind, s.reason, "Provide", "%s", s.message)
	return nil
}

// forget removes the condition of a Deployment that no longer asks.
func (c *Controller) forget(ctx context.Context, d *metav1.PartialObjectMetadata) error {
	if d.UID == "" || d.DeletionTimestamp != nil {
		return nil
	}
	return c.patch(ctx, d, map[string]string{"type": network.OwnCondition, "$patch": "delete"})
}

// patch changes one condition of a Deployment's status. The Deployment
// controller owns the others, and ignores this one.
func (c *Controller) patch(ctx context.Context, d *metav1.PartialObjectMetadata, condition any) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	})
	if err != nil {
		return err
	}
	target := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	if err := c.client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, body)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the condition %s: %w", network.OwnCondition, err)
	}
	return nil
}
