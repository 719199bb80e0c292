package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// An Observer observes clusters. The controllers of clusters and of restores
// share one, so that both know since when a member is silent. A new one starts
// with the full timeout.
type Observer struct {
	// reader reads from the API server: no decision comes from a cache.
	reader   client.Reader
	settling time.Duration
	memories memories
	// connect connects to a cluster's etcd.
	connect func(context.Context, []endpoint, *tls.Config) (caller, error)
}

// NewObserver returns an Observer that reads from the API server.
func NewObserver(reader client.Reader, o Options) *Observer {
	o.complete()
	return &Observer{reader: reader, settling: o.Settling, connect: connect}
}

// Observe observes a cluster without changing anything.
func (o *Observer) Observe(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) (*plan.Observation, error) {
	s, err := o.look(ctx, cluster)
	if err != nil {
		return nil, err
	}
	d := member.Desire(effective(cluster, s))
	if err := d.TLS.Read(ctx, o.reader, cluster.Namespace); err != nil {
		m := (member.MissingError{})
		if !errors.As(err, &m) {
			return nil, err
		}
		d.Missing = m.What // the kubelets and the other members are asked all the same
	}
	err = o.know(ctx, d, s)
	if s.etcd != nil {
		_ = s.etcd.Close()
	}
	return &s.Observation, err
}
