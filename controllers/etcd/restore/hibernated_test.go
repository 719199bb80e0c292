package restore_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdrestore "github.com/usher-dev/usher/controllers/etcd/restore"
)

// hibernate writes whether the cluster example hibernates.
func (s *scene) hibernate(is bool) {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	s.get(c, "example")
	was := c.DeepCopy()
	c.Spec.Hibernated = is
	if err := world.client.Patch(s.Context(), c, client.MergeFrom(was)); err != nil {
		s.Fatal(err)
	}
}

// TestARestoreDoesNotTakeTheSleepOfAClusterForItsLoss restores over a cluster
// that hibernates, which says what to do, and then over one that has just begun
// to wake.
func TestARestoreDoesNotTakeTheSleepOfAClusterForItsLoss(t *testing.T) {
	s := newScene(t)
	s.cluster("example", 1, nil)
	s.untilServing("example", 1)
	s.backup("saved", "example", "backups/"+s.namespace+"/saved", nil)
	s.hibernate(true)
	c := &etcdv1beta2.EtcdCluster{}
	s.until("the sleep", func() any { return c.Status }, func() bool {
		s.get(c, "example")
		return c.Status.Phase == etcdv1beta2.ClusterPhaseHibernated
	})
	id := c.Status.ClusterID
	s.restore("back", "example", "backups/"+s.namespace+"/saved", nil)
	waits := func(reason, says string) func(*etcdv1beta2.EtcdRestore) bool {
		return func(r *etcdv1beta2.EtcdRestore) bool {
			is := meta.FindStatusCondition(r.Status.Conditions, etcdrestore.ConditionRestored)
			return is != nil && is.Reason == reason && strings.Contains(is.Message, says)
		}
	}
	s.untilRestore("back", "the refusal", waits(etcdrestore.ReasonHibernated, "write spec.hibernated: false"))
	s.hibernate(false)
	s.untilRestore("back", "the refusal of a cluster that wakes", waits(etcdrestore.ReasonRunning, wellknown.AnnotationEtcdReplaceRunning))
	if c := s.untilServing("example", 1); c.Status.ClusterID != id {
		t.Errorf("the cluster was %s, and is %s", id, c.Status.ClusterID)
	}
}
