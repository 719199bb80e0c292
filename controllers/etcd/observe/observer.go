package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// An Observer observes clusters. The controllers of clusters and of restores
// share one, so that both know since when a member is silent. A new one starts
// with the full timeout.
type Observer struct {
	// Reader reads from the API server: no decision comes from a cache.
	Reader client.Reader
	// Limits limits what the controller does without being asked.
	Limits plan.Limits
	// Connect connects to a cluster's etcd.
	Connect func(context.Context, []Endpoint, Access) (EtcdClient, error)

	history History
	// proofs are the passwords that etcd accepted last, by cluster.
	proofs sync.Map
}

// New returns an Observer that reads from the API server.
func New(reader client.Reader, limits plan.Limits) *Observer {
	return &Observer{Reader: reader, Limits: limits, Connect: Connect}
}

// Cluster observes a cluster without changing anything. The caller closes the
// observation.
func (o *Observer) Cluster(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) (*Observed, error) {
	objects, err := o.List(ctx, cluster)
	if err != nil {
		return nil, err
	}
	d := member.Desire(objects.Effective())
	if err := d.ReadSecrets(ctx, o.Reader, objects.Pods); err != nil {
		m := (member.MissingError{})
		if !errors.As(err, &m) {
			return nil, err
		}
		d.Missing = m.What // the kubelets and the other members are asked all the same
	}
	return o.Observe(ctx, d, objects)
}

// Observe asks the members of a cluster whose objects are known. The order
// matters: the controller creates a pod after its member is listed, so that a
// pod without a listed member is left over. The caller closes the observation.
func (o *Observer) Observe(ctx context.Context, d *member.Desired, objects *Objects) (*Observed, error) {
	parts := &Parts{Objects: objects, Missing: d.Missing, Certificates: d.TLS.Certificates, Limits: o.Limits}
	etcd, err := o.askMembers(ctx, d, parts)
	if err != nil {
		return nil, err
	}
	// Other witnesses are asked about members that do not answer.
	doubtful := FromParts(parts, time.Now())
	parts.Received = o.askPeers(ctx, doubtful)
	parts.Health = askHealth(ctx, doubtful)
	parts.Nodes, err = o.askNodes(ctx, doubtful)
	if err == nil {
		parts.Classes, err = o.askClasses(ctx, doubtful)
	}
	if err != nil {
		if etcd != nil {
			_ = etcd.Close()
		}
		return nil, err
	}
	seen := FromParts(parts, time.Now())
	seen.Etcd = etcd
	o.history.Update(client.ObjectKeyFromObject(d.Cluster), &seen.Observation)
	return seen, nil
}

// Forget drops what is known of a deleted cluster.
func (o *Observer) Forget(cluster types.NamespacedName) {
	o.history.Forget(cluster)
	o.proofs.Delete(cluster)
}
