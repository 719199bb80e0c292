package backup

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// Save makes one backup at a time of the test's choice, and returns its path.
func Save(ctx context.Context, reader client.Reader, b *etcdv1beta2.EtcdBackup, now time.Time) (string, error) {
	done, surplusErr, err := save(ctx, &Places{Reader: reader}, &Reach{Reader: reader, Allowed: []string{"127.0.0.1"}}, b, now)
	if err = errors.Join(surplusErr, err); err != nil {
		return "", err
	}
	return done.path, nil
}

// Allows reports whether every EtcdBackup may use the address.
func (r *Reach) Allows(address string) bool { return r.allows(address) }

// Own explains why an address does not belong to the namespace.
func (r *Reach) Own(ctx context.Context, namespace, address string) error {
	own, err := r.addresses(ctx, namespace)
	if err != nil {
		return err
	}
	return belongs(own, namespace, address)
}
