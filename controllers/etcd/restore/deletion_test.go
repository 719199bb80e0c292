package restore_test

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/objectstore"
)

// TestADeletedRestoreWaitsForNoStore takes every turn of the namespace with
// stores that do not answer, for half an hour each.
func TestADeletedRestoreWaitsForNoStore(t *testing.T) {
	s := newScene(t)
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: s.meta("example"), Spec: etcdv1beta2.ClusterSpec{Size: 1, Version: "3.6.16", Paused: true}}
	s.create(c)
	restore := func(name, address string) *etcdv1beta2.EtcdRestore {
		r := &etcdv1beta2.EtcdRestore{ObjectMeta: s.meta(name), Spec: etcdv1beta2.RestoreSpec{
			BackupStorageType: etcdv1beta2.BackupStorageS3, BackupSource: s.source("backups/" + name), EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: c.Name},
		}}
		r.Annotations, r.Finalizers = map[string]string{wellknown.AnnotationEtcdReplaceRunning: "true"}, []string{wellknown.FinalizerEtcdRestore}
		r.Spec.S3.Endpoint = "http://" + address
		s.create(r)
		return r
	}
	var stalled []*etcdv1beta2.EtcdRestore
	for _, name := range []string{"first", "second"} {
		proxy, err := objectstore.StartProxy(world.s3.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Stop()
		proxy.Set(objectstore.Fault{StallDown: 1})
		stalled = append(stalled, restore(name, proxy.Address))
		if err := proxy.UntilStalled(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	third := restore("third", world.s3.Address)
	for _, r := range append([]*etcdv1beta2.EtcdRestore{third}, stalled...) {
		if err := world.client.Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return apierrors.IsNotFound(world.client.Get(ctx, client.ObjectKeyFromObject(r), r)), nil
		})
		if err != nil {
			t.Errorf("%s is not deleted: %v", r.Name, err)
		}
	}
}
