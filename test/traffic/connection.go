package traffic

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Connect connects to the current cluster.
type Connect func(context.Context) (*clientv3.Client, error)

// A connection belongs to one client, and is renewed whenever the client drops
// it.
type connection struct {
	connect Connect
	client  *clientv3.Client
}

// get returns the client, and retries connecting until the context ends.
func (c *connection) get(ctx context.Context) (*clientv3.Client, error) {
	for c.client == nil {
		client, err := c.connect(ctx)
		if err == nil {
			c.client = client
			break
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond): // etcd does not notify clients when a member serves
		}
	}
	return c.client, nil
}

// drop closes the connection: the members may have changed.
func (c *connection) drop() {
	if c.client != nil {
		_ = c.client.Close()
		c.client = nil
	}
}
