package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/injector"
)

// find looks a Network up that an object declares. One that is not there is
// found all the same where it is on its way.
func (n *Networks) find(ctx context.Context, namespace, name string, object []byte) (injector.Network, bool, error) {
	network, err := n.network(ctx, namespace, name)
	if err != nil {
		return injector.Network{}, false, err
	}
	if network == nil {
		return n.coming(ctx, namespace, name, object)
	}
	gone, err := n.going(ctx, network)
	if err != nil {
		return injector.Network{}, false, err
	}
	if gone != "" {
		return injector.Network{Reason: injector.NetworkMissing, Detail: gone}, true, nil
	}
	if owner := controller(network, "Deployment"); owner == nil || owner.Name != name {
		if _, own, err := n.coming(ctx, namespace, name, object); err != nil || own {
			return injector.Network{Reason: injector.NetworkForeign, Detail: "was not made for the Deployment that asks for its own"}, own, err
		}
	}
	found := injector.Network{Backend: network.Status.Backend}
	ready := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.Ready)
	switch {
	case ready == nil:
		found.Unready = "it was not made yet"
	case ready.Status != metav1.ConditionTrue:
		found.Unready = ready.Reason + ": " + ready.Message
	}
	return found, true, nil
}

// network reads a Network, nil where there is none, or no such kind.
func (n *Networks) network(ctx context.Context, namespace, name string) (*samplecrdv1.Network, error) {
	network := &samplecrdv1.Network{}
	err := n.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, network)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: reading the Network %s/%s: %w", errUnavailable, namespace, name, err)
	}
	return network, nil
}

// going says why a Network will not be there for long: a pod that was attached
// to it would keep it from going.
func (n *Networks) going(ctx context.Context, network *samplecrdv1.Network) (string, error) {
	if network.DeletionTimestamp != nil {
		return "is being deleted", nil
	}
	owner := controller(network, "Deployment")
	if owner == nil {
		return "", nil
	}
	deployment := &appsv1.Deployment{}
	found, err := n.read(ctx, network.Namespace, owner.Name, deployment)
	if err != nil {
		return "", err
	}
	if !found || deployment.UID != owner.UID {
		return "is that of a Deployment that is gone, and goes with it", nil
	}
	return "", nil
}

// coming looks whether a Network that is not there is that of the pod's own
// Deployment, whose condition says how far it is.
func (n *Networks) coming(ctx context.Context, namespace, name string, object []byte) (injector.Network, bool, error) {
	pod := &metav1.PartialObjectMetadata{}
	if json.Unmarshal(object, pod) != nil {
		return injector.Network{}, false, nil // the decision says so
	}
	owner := controller(pod, "ReplicaSet")
	if owner == nil || !strings.HasPrefix(owner.Name, name+"-") { // as the Deployment controller names them
		return injector.Network{}, false, nil
	}
	set := &appsv1.ReplicaSet{}
	if found, err := n.read(ctx, namespace, owner.Name, set); err != nil || !found {
		return injector.Network{}, false, err
	}
	if owner = controller(set, "Deployment"); owner == nil || owner.Name != name {
		return injector.Network{}, false, nil
	}
	deployment := &appsv1.Deployment{}
	found, err := n.read(ctx, namespace, name, deployment)
	if err != nil || !found || deployment.UID != owner.UID || deployment.Annotations[injector.OwnNetworkKey] != "true" {
		return injector.Network{}, false, err
	}
	var reason, message string
	for _, c := range deployment.Status.Conditions {
		if c.Type == injector.OwnNetworkCondition && c.Status == corev1.ConditionFalse {
			reason, message = c.Reason, c.Message
		}
	}
	return injector.Coming(reason, message), true, nil
}

// foreign says that a Network of a Deployment's name was not made for it. One
// of a Deployment of that name that is gone goes, too.
func (n *Networks) foreign(ctx context.Context, namespace, name string, object []byte) (*injector.Problem, error) {
	network, err := n.network(ctx, namespace, name)
	if err != nil || network == nil {
		return nil, err
	}
	var deployment metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &deployment); err != nil {
		return &injector.Problem{Reason: injector.Undecodable, Field: "metadata", Detail: err.Error()}, nil
	}
	owner := controller(network, "Deployment")
	if owner != nil && owner.Name == name && (deployment.UID == "" || deployment.UID == owner.UID) {
		return nil, nil
	}
	problem := injector.Foreign(namespace, name)
	return &problem, nil
}

// controller is the owner that controls an object, where it is of a kind of
// workload.
func controller(object metav1.Object, kind string) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.APIVersion != appsv1.SchemeGroupVersion.String() || owner.Kind != kind {
		return nil
	}
	return owner
}

// read reads an object, and says whether it is there.
func (n *Networks) read(ctx context.Context, namespace, name string, into client.Object) (bool, error) {
	err := n.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("%w: reading the %T %s/%s: %w", errUnavailable, into, namespace, name, err)
	}
	return err == nil, nil
}
