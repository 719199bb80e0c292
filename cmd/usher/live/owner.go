package live

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An Owner is a controller that makes pods, by way of others or itself.
type Owner struct {
	Kind, Namespace, Name string
	APIVersion            string
	// Annotations are on the owner's own metadata.
	Annotations map[string]string
}

// String names the owner as kubectl does.
func (o Owner) String() string { return strings.ToLower(o.Kind) + "/" + o.Name }

// Owners follows the controllers of an object upwards: of a Deployment's pod
// the ReplicaSet and the Deployment. One that is gone, or of a kind that the
// API server does not serve, ends the list.
func (c *Cluster) Owners(ctx context.Context, namespace string, references []metav1.OwnerReference) ([]Owner, error) {
	var owners []Owner
	const deepest = 5
	for ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: references}); ref != nil && len(owners) < deepest; {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
			owners = append(owners, Owner{Kind: ref.Kind, APIVersion: ref.APIVersion, Namespace: namespace, Name: ref.Name})
			return owners, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the owner %s/%s: %w", ref.Kind, ref.Name, err)
		}
		owners = append(owners, Owner{Kind: ref.Kind, APIVersion: ref.APIVersion, Namespace: namespace, Name: ref.Name, Annotations: object.Annotations})
		ref = metav1.GetControllerOfNoCopy(object)
	}
	return owners, nil
}
