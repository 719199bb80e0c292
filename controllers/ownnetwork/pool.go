package ownnetwork

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/network"
	"github.com/usher-dev/usher/network/subnet"
)

// pool reads the current pool of usher's configuration. Without a usable one,
// the state explains why.
func (c *Controller) pool(ctx context.Context) (subnet.Pool, *state, error) {
	cm := &corev1.ConfigMap{}
	err := c.live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: config.ConfigMapName}, cm)
	if client.IgnoreNotFound(err) != nil {
		return subnet.Pool{}, nil, fmt.Errorf("reading usher's configuration: %w", err)
	}
	where := fmt.Sprintf("ConfigMap %s/%s", c.namespace, config.ConfigMapName)
	if err != nil {
		return subnet.Pool{}, &state{network.OwnNoPool, where + " does not exist: create it with networks.pool, the range to allocate from"}, nil
	}
	parsed, err := config.Parse([]byte(cm.Data[config.ConfigMapKey]))
	if err != nil {
		return subnet.Pool{}, &state{network.OwnNoPool, where + " cannot be read: " + err.Error()}, nil
	}
	if !parsed.Networks.Pool.IsSet() {
		return subnet.Pool{}, &state{network.OwnNoPool, where + " does not set networks.pool, the range to allocate from"}, nil
	}
	p, err := parsed.Networks.Pool.Subnets()
	return p, nil, err
}
