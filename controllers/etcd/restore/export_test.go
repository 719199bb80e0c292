package restore

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdbackup "github.com/usher-dev/usher/controllers/etcd/backup"
	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// NewSource returns a controller that only sends backups, one at a time.
func NewSource(reader client.Reader) *Controller {
	return &Controller{reader: reader, places: &etcdbackup.Places{Reader: reader, Stores: here()}, sending: fairqueue.New(1, 1)}
}

// SeedName returns the name of the pod of a restored member.
func SeedName(r *etcdv1beta2.EtcdRestore) string { return member.SeedName(r) }

// here are the stores of this machine.
func here() *reach.Stores {
	allowed, err := reach.ParseDestinations([]string{"127.0.0.1:*"})
	if err != nil {
		panic(err)
	}
	return &reach.Stores{Allowed: allowed}
}

// Bumps reports whether etcd of a version can increase the revision.
func Bumps(by int64, version string) error { return bumps(by, version) }
