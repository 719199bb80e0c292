package etcdrestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcdcluster"
)

// LabelKept is on the claims of old members, and names the EtcdRestore.
const LabelKept = "etcd.usher.dev/kept-by-restore"

// change has the seed take the old members' place. The order is what makes it
// safe: the claims are set apart before anything ends, the cluster's status is
// the seed's before its pod is the cluster's, and the cluster is left to its
// controller again once it is known that all of it was done.
func (c *Controller) change(ctx context.Context, a *attempt) error {
	if err := c.take(ctx, a); err != nil {
		return err
	}
	seed, err := c.proved(ctx, a)
	if err != nil {
		return err
	}
	if a.cluster.Status.ClusterID != etcdcluster.ID(seed.clusterID) {
		if err := c.untouched(ctx, a); err != nil {
			return err
		}
		kept, err := c.keep(ctx, a)
		if err != nil {
			return err
		}
		a.Status.WayBack = wayBack(a.EtcdRestore, kept)
		if err := c.end(ctx, a); err != nil {
			return err
		}
		if err := c.record(ctx, a, seed); err != nil {
			return err
		}
	}
	return c.adopt(ctx, a, seed)
}

// untouched goes back to proving where nothing was set apart yet and the cluster
// has come back.
func (c *Controller) untouched(ctx context.Context, a *attempt) error {
	kept, err := c.claims(ctx, a.Namespace, map[string]string{LabelKept: a.Name})
	if err != nil || len(kept) > 0 {
		return err
	}
	if err := c.stillLost(ctx, a); err != nil {
		a.Status.Phase = etcdv1beta2.RestorePhaseProving
		return err
	}
	return nil
}

// keep sets the old members' claims apart from the cluster, and returns their
// names.
func (c *Controller) keep(ctx context.Context, a *attempt) ([]string, error) {
	claims, err := c.claims(ctx, a.Namespace, etcdcluster.LabelsOf(a.cluster.Name))
	if err != nil {
		return nil, err
	}
	for i := range claims {
		claim := &claims[i]
		if !metav1.IsControlledBy(claim, a.cluster) || claim.Name == seedName(a.EtcdRestore) {
			continue
		}
		was := claim.DeepCopy()
		claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == a.cluster.UID })
		for name := range etcdcluster.LabelsOf(a.cluster.Name) {
			delete(claim.Labels, name)
		}
		metav1.SetMetaDataLabel(&claim.ObjectMeta, LabelKept, a.Name)
		if err := c.client.Patch(ctx, claim, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
			return nil, fmt.Errorf("keeping the claim %s: %w", claim.Name, err)
		}
	}
	kept, err := c.claims(ctx, a.Namespace, map[string]string{LabelKept: a.Name})
	var names []string
	for i := range kept {
		names = append(names, kept[i].Name)
	}
	return names, err
}

func (c *Controller) claims(ctx context.Context, namespace string, labels map[string]string) ([]corev1.PersistentVolumeClaim, error) {
	var all corev1.PersistentVolumeClaimList
	if err := c.reader.List(ctx, &all, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	return all.Items, nil
}

// wayBack says how to have the old cluster again.
func wayBack(r *etcdv1beta2.EtcdRestore, kept []string) string {
	if len(kept) == 0 {
		return "none: the old members kept their data in their pods"
	}
	return fmt.Sprintf("the old members' data is on the claims %s, until the EtcdRestore %s is deleted: mount the most recent one in a pod, "+
		"save /data/member/snap/db from it into the bucket after `etcdutl snapshot restore --skip-hash-check` has taken it and `etcdctl snapshot save` "+
		"has saved it again, and restore that", strings.Join(kept, ", "), r.Name)
}

// end ends the old members.
func (c *Controller) end(ctx context.Context, a *attempt) error {
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(a.Namespace), client.MatchingLabels(etcdcluster.LabelsOf(a.cluster.Name))); err != nil {
		return fmt.Errorf("listing the cluster's pods: %w", err)
	}
	var ending []string
	for i := range pods.Items {
		p := &pods.Items[i]
		if !metav1.IsControlledBy(p, a.cluster) || p.Name == seedName(a.EtcdRestore) {
			continue
		}
		ending = append(ending, p.Name)
		if p.DeletionTimestamp != nil {
			continue
		}
		if err := c.client.Delete(ctx, p, client.Preconditions{UID: &p.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("ending the old member %s: %w", p.Name, err)
		}
	}
	if len(ending) > 0 {
		return wait(ReasonEnding, "waits for the old members %s to end", strings.Join(ending, ", "))
	}
	return nil
}

// record writes into the cluster's status that it is the seed's.
func (c *Controller) record(ctx context.Context, a *attempt, seed *proved) error {
	step := a.cluster.Status.Step
	a.cluster.Status = etcdcluster.Adopted(a.cluster, seed.pod, seed.clusterID, seed.memberID, seed.version)
	a.cluster.Status.Step = step
	if err := c.client.Status().Update(ctx, a.cluster); err != nil {
		return fmt.Errorf("recording the restored member: %w", err)
	}
	return nil
}

// adopt makes the seed's pod and claim the cluster's.
func (c *Controller) adopt(ctx context.Context, a *attempt, seed *proved) error {
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(a.cluster, etcdv1beta2.GroupVersion.WithKind("EtcdCluster"))}
	var seeds []client.Object
	claim := &corev1.PersistentVolumeClaim{}
	switch err := c.reader.Get(ctx, key(a.Namespace, seed.pod.Name), claim); {
	case err == nil:
		seeds = append(seeds, claim)
	case client.IgnoreNotFound(err) != nil:
		return err
	}
	for _, o := range append(seeds, seed.pod) {
		if metav1.IsControlledBy(o, a.cluster) {
			continue
		}
		was := o.DeepCopyObject().(client.Object)
		o.SetOwnerReferences(owner)
		if err := c.client.Patch(ctx, o, client.MergeFrom(was)); err != nil {
			return fmt.Errorf("making %s the cluster's: %w", o.GetName(), err)
		}
	}
	return nil
}
