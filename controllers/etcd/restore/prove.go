package restore

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/etcd"
)

// askWithin is how long the seed may take to answer.
const askWithin = 10 * time.Second

// prove verifies the data of the seed, and that the old members still have no
// quorum.
func (c *Controller) prove(ctx context.Context, a *attempt) error {
	if _, err := c.proved(ctx, a); err != nil {
		return err
	}
	return c.replaceable(ctx, a) // volumes can come back
}

// proved returns the seed, which must be the only member and have at least the
// revision of the backup.
func (c *Controller) proved(ctx context.Context, a *attempt) (*etcdcluster.Restored, error) {
	p, err := c.pod(ctx, a)
	if err != nil {
		return nil, err
	}
	if p == nil || !ready(p) {
		return nil, wait(ReasonStarting, "waits for the restored member %s to be ready", seedName(a.EtcdRestore))
	}
	seed, err := etcdcluster.Connect(ctx, c.reader, a.cluster, p)
	if err != nil {
		return nil, wait(ReasonUnproved, "connecting to the restored member: %w", err)
	}
	defer func() { _ = seed.Close() }()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	// A linearizable read, for which the seed is the quorum.
	read, err := seed.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return nil, wait(ReasonUnproved, "reading from the restored member: %w", etcderrors.Explain(err))
	}
	list, err := seed.MemberList(ctx)
	if err != nil {
		return nil, wait(ReasonUnproved, "reading the members from the restored member: %w", etcderrors.Explain(err))
	}
	status, err := seed.Status(ctx, seed.Endpoints()[0])
	if err != nil {
		return nil, wait(ReasonUnproved, "reading the status of the restored member: %w", etcderrors.Explain(err))
	}
	switch {
	case len(list.Members) != 1 || list.Members[0].Name != p.Name:
		return nil, stop(ReasonUnproved, "the restored member %s is not the only member: it lists %d", p.Name, len(list.Members))
	case len(status.Errors) > 0:
		return nil, stop(ReasonUnproved, "the restored member %s: %s", p.Name, strings.Join(etcderrors.Reported(status.Errors), "; "))
	case read.Header.Revision < a.Status.EtcdRevision:
		return nil, stop(ReasonUnproved, "the restored member %s is at revision %d instead of %d: usher did not change the old cluster", p.Name, read.Header.Revision, a.Status.EtcdRevision)
	}
	return &etcdcluster.Restored{Pod: p, ClusterID: read.Header.ClusterId, MemberID: read.Header.MemberId, Version: etcd.ReadVersion(status.Version).String()}, nil
}
