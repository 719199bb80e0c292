package kubeconfig

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/kinds"
)

// An Owner is a controller of pods, directly or through other objects.
type Owner struct {
	Kind, Namespace, Name string
	APIVersion            string
	UID                   types.UID
	// Known is true if the owner was read.
	Known bool
}

// String names the owner like kubectl.
func (o Owner) String() string { return strings.ToLower(o.Kind) + "/" + o.Name }

// HoldsTemplate reports whether the owner has the template of its pods.
func (o Owner) HoldsTemplate() bool {
	return o.Known && kinds.Find(o.APIVersion, o.Kind).Is(kinds.Pods)
}

// Owners follows the controllers of an object upwards: from a Deployment's pod
// to the ReplicaSet and the Deployment. An unreadable owner ends the list. The
// owners of a controller are read only once.
func (c *Cluster) Owners(ctx context.Context, object metav1.Object) ([]Owner, error) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return nil, nil
	}
	if owners, ok := c.owners[ref.UID]; ok {
		return owners, nil
	}
	owners, err := c.readOwners(ctx, object.GetNamespace(), ref)
	if err == nil {
		c.owners[ref.UID] = owners
	}
	return owners, err
}

func (c *Cluster) readOwners(ctx context.Context, namespace string, ref *metav1.OwnerReference) ([]Owner, error) {
	var owners []Owner
	const deepest = 5
	for ref != nil && len(owners) < deepest {
		owner := Owner{Kind: ref.Kind, APIVersion: ref.APIVersion, Namespace: namespace, Name: ref.Name, UID: ref.UID}
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) || err == nil && object.UID != ref.UID {
			return append(owners, owner), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the owner %s: %w", owner, err)
		}
		owner.Known = true
		owners = append(owners, owner)
		ref = metav1.GetControllerOfNoCopy(object)
	}
	return owners, nil
}
