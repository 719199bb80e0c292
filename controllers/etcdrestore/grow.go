package etcdrestore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
)

// grow leaves the cluster to its controller, and waits until it has its size.
// From then on the EtcdRestore may be deleted.
func (c *Controller) grow(ctx context.Context, a *attempt) error {
	if a.cluster.Annotations[etcdv1beta2.AnnotationRestore] == a.Name {
		if err := c.giveBack(ctx, a.cluster); err != nil {
			return err
		}
	}
	if err := c.release(ctx, a.EtcdRestore); err != nil {
		return err
	}
	s := &a.cluster.Status
	available := s.Condition(etcdv1beta2.ClusterAvailable)
	if s.ControlPaused && !a.cluster.Spec.Paused {
		return wait(ReasonGrowing, "waits for the controller of EtcdClusters to look at the cluster again")
	}
	if is := len(s.Members.Ready); is < a.cluster.Spec.Size || available == nil || available.Status != corev1.ConditionTrue {
		return wait(ReasonGrowing, "%d of %d members are ready", is, a.cluster.Spec.Size)
	}
	return c.leaveClaims(ctx, a.EtcdRestore)
}

// leaveClaims lets the old members' claims go with the EtcdRestore, now that
// they are not needed to serve.
func (c *Controller) leaveClaims(ctx context.Context, r *etcdv1beta2.EtcdRestore) error {
	kept, err := c.claims(ctx, r.Namespace, map[string]string{LabelKept: r.Name})
	if err != nil {
		return err
	}
	for i := range kept {
		claim := &kept[i]
		was := claim.DeepCopy()
		claim.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: etcdv1beta2.GroupVersion.String(), Kind: "EtcdRestore", Name: r.Name, UID: r.UID,
		}}
		if err := c.client.Patch(ctx, claim, client.MergeFrom(was)); err != nil {
			return fmt.Errorf("leaving the claim %s to the EtcdRestore: %w", claim.Name, err)
		}
	}
	return nil
}
