package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// syncFinalizer adds the finalizer to a cluster whose claims are deleted with it, and
// removes it from others.
func (c *Controller) syncFinalizer(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	was := cluster.DeepCopy()
	change := controllerutil.RemoveFinalizer
	if cluster.Spec.ClaimRetention == etcdv1beta2.DeleteClaims {
		change = controllerutil.AddFinalizer
	}
	if !change(cluster, wellknown.FinalizerEtcdClaims) {
		return nil
	}
	status := cluster.Status
	if err := c.client.Patch(ctx, cluster, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the finalizer %s: %w", wellknown.FinalizerEtcdClaims, err)
	}
	cluster.Status = status
	return nil
}

// release deletes the claims of a cluster that is being deleted, if it has the
// finalizer. The garbage collector deletes its other objects.
func (c *Controller) release(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	if !controllerutil.ContainsFinalizer(cluster, wellknown.FinalizerEtcdClaims) {
		return nil
	}
	if cluster.Spec.ClaimRetention == etcdv1beta2.DeleteClaims {
		if err := c.deleteClaims(ctx, cluster); err != nil {
			return err
		}
	}
	was := cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, wellknown.FinalizerEtcdClaims)
	return client.IgnoreNotFound(c.client.Patch(ctx, cluster, client.MergeFrom(was)))
}

// deleteClaims deletes the claims of the members, and those that are set aside.
func (c *Controller) deleteClaims(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	var members, aside corev1.PersistentVolumeClaimList
	in := client.InNamespace(cluster.Namespace)
	if err := c.observer.Reader.List(ctx, &members, in, client.MatchingLabels(member.LabelsOf(cluster.Name))); err != nil {
		return fmt.Errorf("listing the cluster's claims: %w", err)
	}
	if err := c.observer.Reader.List(ctx, &aside, in, client.MatchingLabels{wellknown.LabelEtcdSetAside: cluster.Name}); err != nil {
		return fmt.Errorf("listing claims set aside: %w", err)
	}
	for i := range members.Items {
		if claim := &members.Items[i]; metav1.IsControlledBy(claim, cluster) && claim.DeletionTimestamp == nil {
			if err := c.writer().Delete(ctx, claim, claim.Name); err != nil {
				return err
			}
		}
	}
	for i := range aside.Items {
		claim := &aside.Items[i]
		if a, ok := member.AsideOf(claim); ok && a.ClusterUID == cluster.UID && claim.DeletionTimestamp == nil {
			if err := c.writer().Delete(ctx, claim, claim.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
