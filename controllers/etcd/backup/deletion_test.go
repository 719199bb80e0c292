package backup_test

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/objectstore"
)

// TestADeletedBackupWaitsForNoStore deletes an EtcdBackup of an earlier operator
// while its store does not answer, for an hour.
func TestADeletedBackupWaitsForNoStore(t *testing.T) {
	shareController(t)
	ns := namespace(t)
	proxy, err := objectstore.StartProxy(world.s3.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Stop()
	proxy.Set(objectstore.Fault{StallDown: 1})
	b := backup(ns, proxy.Address, "backups/deleted/"+ns)
	b.Spec.BackupPolicy = &etcdv1beta2.BackupPolicy{TimeoutInSecond: 3600}
	b.Finalizers = []string{"backup-operator-periodic"}
	create(t, b)
	if err := proxy.UntilStalled(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := world.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(world.client.Get(ctx, client.ObjectKeyFromObject(b), b)), nil
	})
	if err != nil {
		t.Errorf("it is not deleted: %v", err)
	}
}
