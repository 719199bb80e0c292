package cluster

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// Wrap wraps what the controller writes with, and calls etcd with.
func (c *Controller) Wrap(writes func(client.Client) client.Client, calls func(observe.EtcdClient) observe.EtcdClient) {
	c.client = writes(c.client)
	connect := c.observer.Connect
	c.observer.Connect = func(ctx context.Context, endpoints []observe.Endpoint, with observe.Access) (observe.EtcdClient, error) {
		connection, err := connect(ctx, endpoints, with)
		if err != nil {
			return nil, err
		}
		return calls(connection), nil
	}
}

// Looked calls a function whenever the controller begins to observe a cluster,
// which it then reads from the API server, or from the cache if it is at rest.
func (c *Controller) Looked(call func()) {
	c.observer.Reader = looking{c.observer.Reader, call}
	c.client = lookingAtRest{c.client, call}
}

type looking struct {
	client.Reader
	call func()
}

func (l looking) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*etcdv1beta2.EtcdCluster); ok {
		l.call()
	}
	return l.Reader.Get(ctx, key, o, options...)
}

type lookingAtRest struct {
	client.Client
	call func()
}

func (l lookingAtRest) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return looking{l.Client, l.call}.Get(ctx, key, o, options...)
}

// Reads calls a function whenever the controller reads from the API server.
func (c *Controller) Reads(call func()) { c.observer.Reader = reading{c.observer.Reader, call} }

type reading struct {
	client.Reader
	call func()
}

func (r reading) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	r.call()
	return r.Reader.Get(ctx, key, o, options...)
}

func (r reading) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	r.call()
	return r.Reader.List(ctx, list, options...)
}

// FailLists makes lists from the API server fail with the error of a function.
func (c *Controller) FailLists(fail func() error) {
	c.observer.Reader = failing{c.observer.Reader, fail}
}

type failing struct {
	client.Reader
	fail func() error
}

func (f failing) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Reader.List(ctx, list, options...)
}

// CompactedAt returns when the history was dropped.
var CompactedAt = compactedAt

// DenyClasses denies the controller to read StorageClasses.
func (c *Controller) DenyClasses() { c.observer.Reader = classless{c.observer.Reader} }

type classless struct{ client.Reader }

func (c classless) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*storagev1.StorageClass); ok {
		return apierrors.NewForbidden(storagev1.Resource("storageclasses"), key.Name, nil)
	}
	return c.Reader.Get(ctx, key, o, options...)
}
