package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// budget returns the cluster's PodDisruptionBudget, or nil.
func (s *scene) budget() *policyv1.PodDisruptionBudget {
	s.Helper()
	b := &policyv1.PodDisruptionBudget{}
	err := shared.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, b)
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	return b
}

// evict evicts the cluster's only pod, as a drain does.
func (s *scene) evict(dryRun ...string) error {
	clients, err := kubernetes.NewForConfig(shared.plane.Config)
	s.must(err)
	return clients.PolicyV1().Evictions(s.namespace).Evict(s.ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.pods()[0].Name}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
	})
}

func TestOneMember_HasNoDisruptionBudget(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	// As the previous release made it.
	least := intstr.FromInt32(1)
	s.must(shared.client.Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: member.LabelsOf(s.name), OwnerReferences: member.OwnedBy(s.cluster())},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: member.VotersOf(s.name)}},
	}))
	s.eventually("it is deleted", func() bool { return s.budget() == nil })
	if err := s.evict(metav1.DryRunAll); err != nil {
		t.Errorf("a drain waits: %v", err)
	}
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.until("a majority stays of three", func(*etcdv1beta2.EtcdCluster) bool {
		b := s.budget()
		return b != nil && b.Spec.MinAvailable.IntValue() == 2
	})
	s.settled(3, v36)
	etcd, err := s.client(s.ctx)
	s.must(err)
	defer func() { _ = etcd.Close() }()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
	s.until("the budget ends with the third member", func(c *etcdv1beta2.EtcdCluster) bool {
		b := s.budget()
		// etcd knows better than a status that was read before the budget.
		if list, err := etcd.MemberList(s.ctx); err == nil && b == nil && len(list.Members) > 1 {
			t.Errorf("%d members vote, and no budget protects them", len(list.Members))
		}
		return whole(c, 1, v36) && b == nil
	})
}

// TestADisruptionBudgetOfAnotherOwner_StaysAndStopsNothing: one member needs none
// of its name.
func TestADisruptionBudgetOfAnotherOwner_StaysAndStopsNothing(t *testing.T) {
	s := newScene(t)
	none := intstr.FromInt32(0)
	s.must(shared.client.Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"its": "own"}}},
	}))
	s.create(onClaims(1))
	s.settled(1, v36)
	s.looks(3)
	if s.budget() == nil {
		t.Error("the budget of another owner is deleted")
	}
	if stalled := condition(s.cluster(), etcdv1beta2.ClusterStalled); stalled == corev1.ConditionTrue {
		t.Error("the cluster is stalled")
	}
}
