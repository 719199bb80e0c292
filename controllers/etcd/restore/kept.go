package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
)

// keepClaims removes the owner references from old members' claims that the
// previous release left to the garbage collector: otherwise they would be
// deleted with the EtcdRestore.
func (c *Controller) keepClaims(ctx context.Context, a *attempt) error {
	var kept corev1.PersistentVolumeClaimList
	if err := c.reader.List(ctx, &kept, client.InNamespace(a.Namespace), client.MatchingLabels{wellknown.LabelEtcdKept: a.Name}); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range kept.Items {
		claim := &kept.Items[i]
		if claim.Labels[wellknown.LabelEtcdSetAside] != "" || claim.DeletionTimestamp != nil {
			continue
		}
		if a.cluster == nil {
			if err := c.writer().Disown(ctx, claim); err != nil {
				return err
			}
			continue
		}
		why := "set the claim of " + claim.Name + " aside: a restored member has its place"
		if err := c.writer().RetainForRestore(ctx, a.cluster, a.Name, claim, c.claimGrace, why); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) writer() member.Writer {
	return member.Writer{Client: c.client, Reader: c.reader}
}

// discardSeed deletes the claim of a restored member that does not belong to
// the cluster: it only contains the backup.
func (c *Controller) discardSeed(ctx context.Context, r *etcdv1beta2.EtcdRestore) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := c.reader.Get(ctx, key(r.Namespace, member.SeedName(r)), claim); err != nil || !metav1.IsControlledBy(claim, r) {
		return client.IgnoreNotFound(err)
	}
	if err := c.client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the claim %s of the restored member: %w", claim.Name, err)
	}
	return nil
}
