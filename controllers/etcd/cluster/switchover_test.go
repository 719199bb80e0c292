package cluster_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// A pausing client waits before the first write of a switchover: whichever that
// is, the controller decided it before.
type pausing struct {
	client.Client
	begins    *sync.Once
	begun, on chan struct{}
}

func (p pausing) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if strings.Contains(o.GetAnnotations()[wellknown.AnnotationEtcdSwitchover], `"begun":true`) || o.GetLabels()[wellknown.LabelEtcdKept] != "" {
		p.begins.Do(func() {
			close(p.begun)
			<-p.on
		})
	}
	return p.Client.Patch(ctx, o, patch, options...)
}

// restoredMember creates an EtcdRestore in the phase Switching, and a member that
// could replace those of the scene's cluster.
func (s *scene) restoredMember() *etcdv1beta2.EtcdRestore {
	s.Helper()
	r := &etcdv1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "back"}}
	r.Spec.EtcdCluster.Name, r.Spec.BackupStorageType = s.name, etcdv1beta2.BackupStorageS3
	r.Spec.S3 = &etcdv1beta2.S3Source{Path: "any/where", AWSSecret: "aws"}
	s.must(shared.client.Create(s.ctx, r))
	r.Status.Phase = etcdv1beta2.RestorePhaseSwitching
	s.must(shared.client.Status().Update(s.ctx, r))
	d := member.Desire(s.cluster())
	name := member.SeedName(r)
	p := d.Pod(name, v36, member.First(d.Addresses, name), member.Storage{})
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(r, etcdv1beta2.GroupVersion.WithKind("EtcdRestore"))}
	s.must(shared.client.Create(s.ctx, p))
	s.until("the restored member is ready", func(*etcdv1beta2.EtcdCluster) bool {
		s.must(shared.client.Get(s.ctx, client.ObjectKeyFromObject(p), p))
		return observe.Ready(p)
	})
	return r
}

// uidOf returns the UID of a pod; "" without one.
func (s *scene) uidOf(name string) types.UID {
	s.Helper()
	for _, p := range s.pods() {
		if p.Name == name {
			return p.UID
		}
	}
	return ""
}

// TestASwitchoverThatWasWithdrawn_ChangesNothing holds the first write of a
// switchover back until the old member serves again, and the restore has
// withdrawn and given the cluster back.
func TestASwitchoverThatWasWithdrawn_ChangesNothing(t *testing.T) {
	s := emptyScene(t)
	p := pausing{begins: &sync.Once{}, begun: make(chan struct{}), on: make(chan struct{})}
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { p.Client = c; return p }, func(e observe.EtcdClient) observe.EtcdClient { return e })
	}
	s.start()
	s.create(onClaims(1))
	s.settled(1, v36)
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	_, err = etcd.Put(s.ctx, "key", "value")
	s.must(err)
	old := s.names()[0]
	uid := s.uidOf(old)
	r := s.restoredMember()

	s.must(shared.kubelet.Freeze(s.namespace, old, true))
	c := s.cluster()
	c.Annotations = map[string]string{wellknown.AnnotationEtcdRestore: r.Name}
	s.must(shared.client.Update(s.ctx, c))
	s.until("the controller knows", func(c *etcdv1beta2.EtcdCluster) bool { return c.Status.HeldBy == r.Name })
	restores := member.Writer{Client: shared.client, Reader: shared.client}
	s.must(restores.WriteSwitchover(s.ctx, s.cluster(), member.Switchover{Member: member.SeedName(r)}))
	select {
	case <-p.begun:
	case <-s.ctx.Done():
		t.Fatal("the switchover does not begin")
	}

	s.must(shared.kubelet.Freeze(s.namespace, old, false))
	_, err = etcd.Put(s.ctx, "key", "later")
	s.must(err)
	s.must(restores.WriteSwitchover(s.ctx, s.cluster(), member.Switchover{}))
	r.Status.Phase = etcdv1beta2.RestorePhaseProving
	s.must(shared.client.Status().Update(s.ctx, r))
	c = s.cluster()
	delete(c.Annotations, wellknown.AnnotationEtcdRestore)
	s.must(shared.client.Update(s.ctx, c))
	s.must(shared.client.Delete(s.ctx, r))
	close(p.on)

	s.settled(1, v36)
	s.looks(5)
	// A claim that is set aside is returned to a member that lives, with this label.
	var claims corev1.PersistentVolumeClaimList
	s.must(shared.client.List(s.ctx, &claims, client.InNamespace(s.namespace), client.HasLabels{wellknown.LabelEtcdKept}))
	if len(claims.Items) > 0 || s.cluster().Annotations[wellknown.AnnotationEtcdSwitchover] != "" {
		t.Errorf("the switchover went on: %d claims were set aside, and the cluster has %v", len(claims.Items), s.cluster().Annotations)
	}
	if s.uidOf(old) != uid {
		t.Errorf("the pod %s was replaced", old)
	}
	var got *clientv3.GetResponse
	if got, err = etcd.Get(s.ctx, "key"); err != nil || got.Count != 1 || string(got.Kvs[0].Value) != "later" {
		t.Errorf("the key is not there: %v, %v", got, err)
	}
}
