package restore

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// grow releases the cluster to its controller, and waits until it has its size.
// From then on the EtcdRestore may be deleted.
func (c *Controller) grow(ctx context.Context, a *attempt) error {
	if a.cluster.Annotations[wellknown.AnnotationEtcdRestore] == a.Name {
		if err := c.giveBack(ctx, a.cluster); err != nil {
			return err
		}
	}
	if err := c.removeFinalizer(ctx, a.EtcdRestore); err != nil {
		return err
	}
	if a.cluster.Spec.Hibernated {
		return wait(ReasonHibernated, "the data is restored, and the EtcdCluster %s hibernates: it grows to its size once spec.hibernated is false", a.cluster.Name)
	}
	s := &a.cluster.Status
	available := s.Condition(etcdv1beta2.ClusterAvailable)
	if s.ControlPaused && !a.cluster.Spec.Paused {
		return wait(ReasonGrowing, "waits for the EtcdCluster controller to observe the cluster again")
	}
	if is := len(s.Members.Ready); is < a.cluster.Spec.Size || available == nil || available.Status != corev1.ConditionTrue {
		return wait(ReasonGrowing, "%d of %d members are ready", is, a.cluster.Spec.Size)
	}
	return nil
}
