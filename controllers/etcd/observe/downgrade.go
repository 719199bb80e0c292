package observe

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/etcd"
)

// EnableDowngrade implements EtcdClient.
func (c *connection) EnableDowngrade(ctx context.Context, to etcd.Version) error {
	return c.downgrade(ctx, clientv3.DowngradeEnable, to, rpctypes.ErrDowngradeInProcess)
}

// CancelDowngrade implements EtcdClient.
func (c *connection) CancelDowngrade(ctx context.Context) error {
	return c.downgrade(ctx, clientv3.DowngradeCancel, etcd.Version{}, rpctypes.ErrNoInflightDowngrade)
}

// downgrade asks for a change that etcd reports as done with an error.
func (c *connection) downgrade(ctx context.Context, action clientv3.DowngradeAction, to etcd.Version, done error) error {
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	_, err := c.Downgrade(ctx, action, fmt.Sprintf("%d.%d", to.Major, to.Minor))
	if errors.Is(err, done) {
		return nil
	}
	return err
}

// readDowngrade reads the downgrade that etcd has begun, preferably from the leader,
// which others may lag behind. Members before etcd 3.6 do not report it.
func (f *reading) readDowngrade() {
	for name, a := range f.parts.Answers {
		if a.Status == nil || f.found[name].Stranger {
			continue
		}
		to := downgradeOf(a.Status)
		if leads(a.Status) && a.Status.DowngradeInfo != nil {
			f.Downgrade = to
			return
		}
		if to != (etcd.Version{}) {
			f.Downgrade = to
		}
	}
}

func downgradeOf(s *clientv3.StatusResponse) etcd.Version {
	if !s.DowngradeInfo.GetEnabled() {
		return etcd.Version{}
	}
	return etcd.ReadVersion(s.DowngradeInfo.GetTargetVersion()).WithoutPatch()
}
