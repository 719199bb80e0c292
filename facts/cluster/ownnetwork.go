package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/network"
)

// ownedBy reports whether a Network exists and was created for a Deployment.
func ownedBy(network *samplecrdv1.Network, deployment string) bool {
	if network == nil {
		return false
	}
	owner := controller(network, "Deployment")
	return owner != nil && owner.Name == deployment
}

// going explains why a Network will not exist for long: an attached pod would
// block its deletion.
func going(ctx context.Context, network *samplecrdv1.Network, deployments *deploymentList) (string, error) {
	if network.DeletionTimestamp != nil {
		return "is being deleted", nil
	}
	owner := controller(network, "Deployment")
	if owner == nil {
		return "", nil
	}
	exists, err := deployments.has(ctx, owner.Name, owner.UID)
	if err != nil || exists {
		return "", err
	}
	return "belongs to a deleted Deployment, and will be deleted, too", nil
}

// A deploymentList lists a namespace's Deployments on first use.
type deploymentList struct {
	reader    client.Reader
	namespace string
	uids      map[string]types.UID // by name; nil before the list
}

func (d *deploymentList) has(ctx context.Context, name string, uid types.UID) (bool, error) {
	if d.uids == nil {
		uids := map[string]types.UID{}
		for next := ""; ; {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
			if err := d.reader.List(ctx, list, client.InNamespace(d.namespace), client.Limit(listLimit), client.Continue(next)); err != nil {
				return false, fmt.Errorf("%w: listing the Deployments of %s: %w", errUnavailable, d.namespace, err)
			}
			for i := range list.Items {
				uids[list.Items[i].Name] = list.Items[i].UID
			}
			if next = list.Continue; next == "" {
				break
			}
		}
		d.uids = uids
	}
	return d.uids[name] == uid, nil
}

// ownDeployment returns the name of the Deployment that a pod belongs to,
// derived from the name that the Deployment controller gives ReplicaSets: the
// Deployment's, a dash, and a hash without dashes. It is "" for other objects.
func ownDeployment(object []byte) string {
	pod := &metav1.PartialObjectMetadata{}
	if json.Unmarshal(object, pod) != nil {
		return "" // the decision says so
	}
	owner := controller(pod, "ReplicaSet")
	if owner == nil {
		return ""
	}
	return owner.Name[:max(0, strings.LastIndexByte(owner.Name, '-'))]
}

// coming checks whether a Network is that of the pod's own Deployment, whose
// condition shows the progress.
func (n *Networks) coming(ctx context.Context, namespace, name string, object []byte) (network.State, bool, error) {
	pod := &metav1.PartialObjectMetadata{}
	if json.Unmarshal(object, pod) != nil {
		return network.State{}, false, nil // the decision reports it
	}
	owner, set := controller(pod, "ReplicaSet"), &appsv1.ReplicaSet{}
	if found, err := n.read(ctx, namespace, owner.Name, set); err != nil || !found {
		return network.State{}, false, err
	}
	if owner = controller(set, "Deployment"); owner == nil || owner.Name != name {
		return network.State{}, false, nil
	}
	deployment := &appsv1.Deployment{}
	found, err := n.read(ctx, namespace, name, deployment)
	if err != nil || !found || deployment.UID != owner.UID || deployment.Annotations[wellknown.OwnNetwork] != "true" {
		return network.State{}, false, err
	}
	var condition, message string
	for _, c := range deployment.Status.Conditions {
		if c.Type == network.OwnCondition && c.Status == corev1.ConditionFalse {
			condition, message = c.Reason, c.Message
		}
	}
	return network.Coming(condition, message), true, nil
}

// Foreign reports whether a Network with a Deployment's name was not created
// for it. A Network of a deleted Deployment with that name does not count,
// because it will be deleted, too.
func (n *Networks) Foreign(ctx context.Context, namespace, name string, object []byte) (*finding.Finding, error) {
	other := &samplecrdv1.Network{}
	found, err := n.read(ctx, namespace, name, other)
	if err != nil || !found {
		return nil, err
	}
	var deployment metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &deployment); err != nil {
		return new(finding.Denial(reason.Undecodable, "metadata", err.Error())), nil
	}
	owner := controller(other, "Deployment")
	if owner != nil && owner.Name == name && (deployment.UID == "" || deployment.UID == owner.UID) {
		return nil, nil
	}
	return new(network.Foreign(namespace, name)), nil
}

// controller returns the controlling owner of an object, if it is a kind of
// workload.
func controller(object metav1.Object, kind string) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.APIVersion != appsv1.SchemeGroupVersion.String() || owner.Kind != kind {
		return nil
	}
	return owner
}

// read reads an object, and reports whether it exists.
func (n *Networks) read(ctx context.Context, namespace, name string, into client.Object) (bool, error) {
	err := n.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	switch {
	case client.IgnoreNotFound(err) == nil, meta.IsNoMatchError(err):
		return err == nil, nil
	}
	return false, fmt.Errorf("%w: reading the %T %s/%s: %w", errUnavailable, into, namespace, name, err)
}
