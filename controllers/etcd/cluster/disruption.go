package cluster

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/usher-dev/usher/policies/etcd"
)

// ensureDisruptionBudget prevents drains from breaking the quorum. It sets
// minAvailable to a number: a percentage, or maxUnavailable, depends on the
// existing pods, and decreases with them.
func (c *Controller) ensureDisruptionBudget(ctx context.Context, d *desired, s *observed) error {
	least := intstr.FromInt32(int32(etcd.Quorum(max(s.voters(), d.cluster.Spec.Size))))
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.cluster.Namespace, Name: d.cluster.Name}}
	err := c.ensure(ctx, d, b, func() {
		b.Labels = labelsOf(d.cluster.Name)
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: votersOf(d.cluster.Name)}
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = &least, nil
	})
	if err != nil {
		return fmt.Errorf("creating the PodDisruptionBudget: %w", err)
	}
	return nil
}
