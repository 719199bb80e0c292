package member

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/etcd"
)

// DisruptionBudget prevents drains from breaking the quorum. It sets
// minAvailable to a number: a percentage, or maxUnavailable, depends on the
// existing pods, and decreases with them. A single member has no budget, which
// would block every drain of its node: the cluster stops with the node in any
// case.
func (w Writer) DisruptionBudget(ctx context.Context, d *Desired, voters int) error {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.Cluster.Namespace, Name: d.Cluster.Name}}
	if max(voters, d.Cluster.Spec.Size) == 1 {
		return w.deleteOwn(ctx, d, b, "the PodDisruptionBudget")
	}
	least := intstr.FromInt32(int32(etcd.Quorum(max(voters, d.Cluster.Spec.Size))))
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

// deleteOwn deletes an object, which errors call what, if it exists and belongs
// to the cluster.
func (w Writer) deleteOwn(ctx context.Context, d *Desired, o client.Object, what string) error {
	err := w.Reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	if err != nil || !metav1.IsControlledBy(o, d.Cluster) || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return w.Delete(ctx, o, what)
}
