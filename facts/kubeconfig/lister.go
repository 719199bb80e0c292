package kubeconfig

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/policies"
)

// A lister finds the objects of the core group that a template needs, by their
// metadata. It is for one verdict.
type lister struct {
	ctx     context.Context
	cluster *Cluster
}

// Get implements policies.Lister.
func (l lister) Get(kind, namespace, name string) (*policies.Object, string) {
	object := metadata(kind)
	err := l.cluster.Get(l.ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, ""
	case err != nil:
		return nil, "you may not read it"
	}
	return &policies.Object{APIVersion: "v1", Kind: kind}, ""
}

// List implements policies.Lister.
func (l lister) List(string, string) ([]*policies.Object, string) {
	return nil, "usher read no other objects"
}
