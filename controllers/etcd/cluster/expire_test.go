package cluster_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// aside creates a claim that a former cluster has set aside.
func (s *scene) aside(name string, a member.Aside) *corev1.PersistentVolumeClaim {
	s.Helper()
	a.ClusterUID, a.Reason = "former", plan.NotResponding
	text, err := json.Marshal(a)
	s.must(err)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: name,
		Labels:      map[string]string{wellknown.LabelEtcdSetAside: s.name},
		Annotations: map[string]string{wellknown.AnnotationEtcdSetAside: string(text)},
	}, Spec: *claimTemplate("1Gi")}
	s.must(shared.client.Create(s.ctx, claim))
	return claim
}

// isGone reports whether a claim is deleted, or being deleted: the API server of
// the tests has no controller that lets it go.
func (s *scene) isGone(claim *corev1.PersistentVolumeClaim) bool {
	s.Helper()
	err := shared.client.Get(s.ctx, client.ObjectKeyFromObject(claim), claim)
	s.must(client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err) || claim.DeletionTimestamp != nil
}

// TestClaimsSetAsideByADeletedCluster_EndOnTheirDate without a cluster of the name,
// and with one, which lists them.
func TestClaimsSetAsideByADeletedCluster_EndOnTheirDate(t *testing.T) {
	s := newScene(t)
	over, later := metav1.NewTime(time.Now().Add(-time.Minute)), metav1.NewTime(time.Now().Add(time.Hour)).Rfc3339Copy()
	s.must(shared.client.Create(s.ctx, &etcdv1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "back"},
		Spec:       etcdv1beta2.RestoreSpec{EtcdCluster: etcdv1beta2.EtcdClusterRef{Name: "another"}, BackupStorageType: etcdv1beta2.BackupStorageS3},
	}))
	kept, held := s.aside("kept", member.Aside{Until: later}), s.aside("held", member.Aside{Until: over, Restore: "back"})
	soon := s.aside("soon", member.Aside{Until: metav1.NewTime(time.Now().Add(2 * time.Second))})
	undated := s.aside("undated", member.Aside{})
	ended := s.aside("ended", member.Aside{Until: over})
	for _, claim := range []*corev1.PersistentVolumeClaim{ended, soon} {
		s.eventually(claim.Name+" is deleted", func() bool { return s.isGone(claim) })
	}
	s.create(onClaims(1))
	s.settled(1, v36)
	s.until("the cluster lists them", func(c *etcdv1beta2.EtcdCluster) bool {
		told := c.Status.Condition(etcdv1beta2.ClusterClaimsSetAside)
		return told != nil && told.Status == corev1.ConditionTrue && len(c.Status.SetAside) == 2 && c.Status.SetAside[0].Claim == "held" && c.Status.SetAside[1].Until.Equal(&later)
	})
	ended = s.aside("ended-later", member.Aside{Until: over})
	s.eventually("ended-later is deleted", func() bool { return s.isGone(ended) })
	for _, claim := range []*corev1.PersistentVolumeClaim{kept, held, undated} {
		if s.isGone(claim) {
			t.Errorf("%s is deleted", claim.Name)
		}
	}
}
