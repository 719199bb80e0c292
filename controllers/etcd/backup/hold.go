package backup

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// hold connects to the chosen member, and asks it again. The endpoint may be a
// Service, where each connection leads to another member: the revision must be
// that of the member whose snapshot follows on the same connection, because
// another member's snapshot may lack it.
func hold(ctx context.Context, w way, chosen member) (*clientv3.Client, member, error) {
	c, err := way{w.secure, w.dial.once(), w.known}.connect(ctx, chosen.endpoint)
	if err != nil {
		return nil, member{}, err
	}
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	// The client's own Status makes another connection.
	s, err := etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Status(within, &etcdserverpb.StatusRequest{})
	m := described(chosen.endpoint, (*clientv3.StatusResponse)(s), w.explain(err))
	if _, err := choose([]member{m}); err != nil {
		return nil, member{}, errors.Join(err, c.Close())
	}
	switch {
	case m.cluster != chosen.cluster:
		err = fault(ReasonInvalid, "the endpoint %s leads to members of different clusters, %x and %x", m.endpoint, chosen.cluster, m.cluster)
	case chosen.led && !m.led:
		err = fault(ReasonUnreachable, "the endpoint %s leads to several members, one of them without a leader: usher does not save that one while others have a leader", m.endpoint)
	default:
		return c, m, nil
	}
	return nil, member{}, errors.Join(err, c.Close())
}

// once returns a dialer that connects only once, so that a client that
// reconnects does not end at another member.
func (d dialer) once() dialer {
	var used atomic.Bool
	return func(ctx context.Context, address string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection to the member broke")
		}
		return d(ctx, address)
	}
}
