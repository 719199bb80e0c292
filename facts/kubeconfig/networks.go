package kubeconfig

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/network"
)

// networks looks up the Networks that a pod declares. ok is false if they are
// not listable.
func (c *Cluster) networks(ctx context.Context, namespace string, pod []byte) (found map[string]network.State, ok bool, err error) {
	names, problem := network.Declared("Pod", pod)
	if problem != nil {
		return nil, true, nil // the verdict reports it
	}
	found, err = (&cluster.Networks{Reader: c}).Fresh(ctx, namespace, names, pod)
	if apierrors.IsForbidden(err) {
		return nil, false, nil
	}
	return found, err == nil, err
}
