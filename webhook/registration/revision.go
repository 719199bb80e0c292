package registration

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// revisionAnnotation is the Deployment controller's revision number of a
// Deployment and its ReplicaSets: the newest ReplicaSet has the Deployment's
// own.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// IsCurrentRevision reports whether a pod belongs to its Deployment's newest
// ReplicaSet. It is true for a pod without a Deployment.
func IsCurrentRevision(ctx context.Context, reader client.Reader, pod client.ObjectKey) (bool, error) {
	own, err := metadataOf(ctx, reader, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, pod)
	if err != nil {
		return false, err
	}
	replicaSet, err := controllerOf(ctx, reader, own, "ReplicaSet")
	if replicaSet == nil || err != nil {
		return err == nil, err
	}
	deployment, err := controllerOf(ctx, reader, replicaSet, "Deployment")
	if deployment == nil || err != nil {
		return err == nil, err
	}
	return replicaSet.Annotations[revisionAnnotation] == deployment.Annotations[revisionAnnotation], nil
}

// controllerOf reads the controller of an object, or returns nil if it is of
// another kind.
func controllerOf(ctx context.Context, reader client.Reader, object metav1.Object, kind string) (*metav1.PartialObjectMetadata, error) {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != kind {
		return nil, nil
	}
	return metadataOf(ctx, reader, appsv1.SchemeGroupVersion.WithKind(kind), client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name})
}

func metadataOf(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	if err := reader.Get(ctx, key, object); err != nil {
		return nil, fmt.Errorf("reading the %s %s: %w", kind.Kind, key, err)
	}
	return object, nil
}
