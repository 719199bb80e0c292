package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// lookAside reads the claims that are set aside. A claim without a valid date
// in the annotation, or of another cluster with the name, is kept forever.
func (o *Observer) lookAside(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, s *observed) error {
	var claims corev1.PersistentVolumeClaimList
	of := client.MatchingLabels{wellknown.LabelEtcdSetAside: cluster.Name}
	if err := o.reader.List(ctx, &claims, client.InNamespace(cluster.Namespace), of); err != nil {
		return fmt.Errorf("listing claims set aside: %w", err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		a, ok := member.AsideOf(claim)
		if !ok || a.ClusterUID != cluster.UID || claim.DeletionTimestamp != nil {
			continue
		}
		held, err := o.restoreExists(ctx, cluster.Namespace, a.Restore)
		if err != nil {
			return err
		}
		s.aside[claim.Name] = claim
		s.SetAside = append(s.SetAside, plan.SetAside{Claim: claim.Name, Cause: a.Reason, Until: a.Until.Time, Held: held})
	}
	return nil
}

func (o *Observer) restoreExists(ctx context.Context, namespace, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	r := &metav1.PartialObjectMetadata{}
	r.SetGroupVersionKind(etcdv1beta2.GroupVersion.WithKind("EtcdRestore"))
	err := o.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, r)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the EtcdRestore %s: %w", name, err)
	}
	return true, nil
}

// setAside sets the claim of a removed member aside.
func (c *Controller) setAside(ctx context.Context, d *member.Desired, s *observed, t plan.Step) error {
	claim := s.claims[t.Member]
	if claim == nil {
		return nil
	}
	why := t.Why
	for _, announced := range d.Cluster.Status.SetAside {
		if announced.Claim == t.Member && announced.Message != "" {
			why = announced.Message
		}
	}
	return c.retain(ctx, d.Cluster, claim, member.Aside{By: "EtcdCluster/" + d.Cluster.Name, Reason: t.Cause, Why: why}, "changing the claim "+claim.Name)
}

// RetainForRestore sets the claim of an old member aside, which a restored one
// has replaced. It is kept while the EtcdRestore exists, and for a while
// afterwards.
func (c *Controller) RetainForRestore(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string, claim *corev1.PersistentVolumeClaim, why string) error {
	return c.retain(ctx, cluster, claim, member.Aside{By: "EtcdRestore/" + restore, Restore: restore, Reason: plan.Restored, Why: why}, "setting the claim "+claim.Name+" aside")
}

// retain sets a claim aside, unless it was replaced since it was read. Errors
// call that what.
func (c *Controller) retain(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, claim *corev1.PersistentVolumeClaim, a member.Aside, what string) error {
	namespace, err := c.namespaceUID(ctx, claim.Namespace)
	if err != nil {
		return err
	}
	now := metav1.Now().Rfc3339Copy()
	a.At, a.Until = now, metav1.NewTime(now.Add(c.options.ClaimGrace))
	changed := claim.DeepCopy()
	if a.Restore != "" {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, wellknown.LabelEtcdKept, a.Restore)
	}
	if err := member.SetAside(changed, cluster, a, namespace); err != nil {
		return err
	}
	if err := c.client.Patch(ctx, changed, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// reattach returns a claim that was set aside to its member.
func (c *Controller) reattach(ctx context.Context, d *member.Desired, s *observed, name string) error {
	claim := s.aside[name]
	namespace, err := c.namespaceUID(ctx, claim.Namespace)
	if err != nil {
		return err
	}
	changed := claim.DeepCopy()
	delete(changed.Labels, wellknown.LabelEtcdSetAside)
	delete(changed.Annotations, wellknown.AnnotationEtcdSetAside)
	changed.Labels = labels.Merge(changed.Labels, member.LabelsOf(d.Cluster.Name))
	changed.OwnerReferences = member.Owners(d.Cluster, namespace)
	return c.patchClaim(ctx, claim, changed)
}

func (c *Controller) patchClaim(ctx context.Context, was, is *corev1.PersistentVolumeClaim) error {
	if err := c.client.Patch(ctx, is, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("changing the claim %s: %w", was.Name, err)
	}
	return nil
}

// announce writes which claims are set aside, or will be, along with the step.
func (s *observed) announce(st *etcdv1beta2.ClusterStatus, t *plan.Step) {
	all := map[string]etcdv1beta2.SetAsideClaim{}
	for _, was := range s.before.SetAside {
		if m := s.byName(was.Claim); m != nil && !m.Listed && m.Claim.Exists {
			was.Until = nil
			all[was.Claim] = was
		}
	}
	for name, claim := range s.aside {
		a, _ := member.AsideOf(claim)
		all[name] = etcdv1beta2.SetAsideClaim{Claim: name, Reason: string(a.Reason), Message: a.Why, Until: &a.Until}
	}
	if t != nil && t.Action == plan.Remove {
		if m := s.byName(t.Member); m != nil && m.Claim.Exists {
			all[t.Member] = etcdv1beta2.SetAsideClaim{Claim: t.Member, Reason: string(t.Cause), Message: t.String()}
		}
	}
	st.SetAside = nil
	for _, name := range slices.Sorted(maps.Keys(all)) {
		st.SetAside = append(st.SetAside, all[name])
	}
}

func (s *observed) byName(name string) *plan.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}
