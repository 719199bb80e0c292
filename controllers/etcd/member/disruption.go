package member

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/usher-dev/usher/etcd"
)

// DisruptionBudget prevents drains from breaking the quorum. It sets
// minAvailable to a number: a percentage, or maxUnavailable, depends on the
// existing pods, and decreases with them.
func (w Writer) DisruptionBudget(ctx context.Context, d *Desired, voters int, durable bool) error {
	least := intstr.FromInt32(int32(leastAvailable(voters, d.Cluster.Spec.Size, durable)))
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.Cluster.Namespace, Name: d.Cluster.Name}}
	err := w.ensure(ctx, d, b, func() {
		b.Labels = LabelsOf(d.Cluster.Name)
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: VotersOf(d.Cluster.Name)}
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = &least, nil
	})
	if err != nil {
		return fmt.Errorf("creating the PodDisruptionBudget: %w", err)
	}
	return nil
}

// leastAvailable returns how many voters a drain has to leave. A single member
// has no other to take over, so its cluster stops with its node in any case. If
// its data survives that, the drain must not wait forever; otherwise the drain
// would delete the data.
func leastAvailable(voters, size int, durable bool) int {
	members := max(voters, size)
	if members == 1 && durable {
		return 0
	}
	return etcd.Quorum(members)
}
