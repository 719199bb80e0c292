package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// An odd client's members say how they are too late, or for another cluster.
type odd struct {
	observe.EtcdClient
	late, foreign *atomic.Bool
}

func (o odd) Status(ctx context.Context, clientURL string) (*clientv3.StatusResponse, error) {
	if o.late.Load() {
		return nil, context.DeadlineExceeded
	}
	status, err := o.EtcdClient.Status(ctx, clientURL)
	if err == nil && o.foreign.Load() {
		status.Header.ClusterId++
	}
	return status, err
}

// oddScene returns a scene of a cluster with such members.
func oddScene(t *testing.T) (s *scene, late, foreign *atomic.Bool) {
	t.Helper()
	s, late, foreign = emptyScene(t), &atomic.Bool{}, &atomic.Bool{}
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return c }, func(e observe.EtcdClient) observe.EtcdClient { return odd{e, late, foreign} })
	}
	s.start()
	s.create(onClaims(3))
	s.settled(3, v36)
	return s, late, foreign
}

// TestASlowCluster_IsAvailable while no member says in time how it is, and clients
// write.
func TestASlowCluster_IsAvailable(t *testing.T) {
	s, late, _ := oddScene(t)
	members := s.names()
	w := s.write()
	late.Store(true)
	s.stalled("Slow", "it does not answer the controller in time")
	s.looks(5)
	c := s.cluster()
	available := c.Status.Condition(etcdv1beta2.ClusterAvailable)
	if available.Status != corev1.ConditionTrue || available.Reason != etcdcluster.ReasonAnswers || c.Status.Phase != etcdv1beta2.ClusterPhaseRunning ||
		condition(c, etcdv1beta2.ClusterRecovering) == corev1.ConditionTrue || c.Status.Quorum.Margin != 1 {
		t.Errorf("the cluster is %s, with the margin %d: %v", c.Status.Phase, c.Status.Quorum.Margin, c.Status.Conditions)
	}
	late.Store(false)
	s.settled(3, v36)
	s.goesOn()
	if now := s.names(); !equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
	w.verify()
}

func TestAnotherClusterInThePlaceOfOne_IsReported(t *testing.T) {
	s, _, foreign := oddScene(t)
	members := s.names()
	foreign.Store(true)
	s.stalled("ForeignCluster", "most members answer for another etcd cluster")
	s.until("it is not available", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionFalse
	})
	foreign.Store(false)
	s.settled(3, v36)
	s.goesOn()
	if now := s.names(); !equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
}
