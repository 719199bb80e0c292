package backup

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// Save makes one backup at a time of the test's choice, and returns its path.
func Save(ctx context.Context, reader client.Reader, b *etcdv1beta2.EtcdBackup, now time.Time) (string, error) {
	here, err := reach.ParseDestinations([]string{"127.0.0.1:*"})
	if err != nil {
		return "", err
	}
	done, surplusErr, err := save(ctx, &Places{Reader: reader, Stores: &reach.Stores{Reader: reader, Allowed: here}}, &Reach{Reader: reader, Allowed: []string{"127.0.0.1"}}, b, now)
	if err = errors.Join(surplusErr, err); err != nil {
		return "", err
	}
	return done.path, nil
}

// Surplus returns the keys to delete after the backup with the key written was
// made.
func Surplus(path string, objects []store.Object, written string, keep int) ([]string, error) {
	var all []string
	old, err := surplus(Below(path, objects), written, keep)
	for _, k := range old {
		all = append(all, k.Key)
	}
	return all, err
}

// Retain deletes the surplus backups in a store.
func Retain(ctx context.Context, reader client.Reader, in store.Store, b *etcdv1beta2.EtcdBackup, path, written string) error {
	return retain(ctx, reader, &Place{Store: in, Key: path, Path: "bucket/" + path}, b, written)
}

// PeriodicKey returns the key of a backup.
func PeriodicKey(path string, revision int64, taken time.Time) string {
	return periodicKey(path, revision, taken)
}

// Allows reports whether every EtcdBackup may use the address.
func (r *Reach) Allows(address string) bool { return r.allows(address) }

// Own explains why an address does not belong to the namespace.
func (r *Reach) Own(ctx context.Context, namespace, address string) error {
	own, err := reach.ReadOwn(ctx, r.Reader, namespace)
	if err != nil {
		return err
	}
	return belongs(own, namespace, address)
}

// GraceOf returns the grace of an EtcdBackup.
func GraceOf(b *etcdv1beta2.EtcdBackup) reach.Grace { return graceOf(b) }

// Metrics returns the names of the metrics about the EtcdBackups of a namespace.
func Metrics(reader client.Reader, namespace string) (names []string, err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{backups: reader})
	families, err := registry.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "namespace" && label.GetValue() == namespace {
					names = append(names, family.GetName())
				}
			}
		}
	}
	return names, err
}
