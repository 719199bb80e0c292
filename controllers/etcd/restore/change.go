package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/plan"
)

// LabelKept on the claims of old members names the EtcdRestore.
const LabelKept = "etcd.usher.dev/kept-by-restore"

// change replaces the old members with the seed, as package plan decides: step
// by step, with an observation before each.
func (c *Controller) change(ctx context.Context, a *attempt) error {
	for {
		w, err := c.observe(ctx, a)
		if err != nil {
			return err
		}
		p := plan.Next(&a.cluster.Spec, w.observation)
		t := p.Now()
		switch {
		case p.Blocked == plan.ClusterRunning:
			a.Status.Phase = etcdv1beta2.RestorePhaseProving
			return recovered(a)
		case t == nil:
			return wait(ReasonUnproved, "%s", p.Message)
		case t.Action == plan.Release:
			return nil // which growing does
		}
		if err := c.execute(ctx, a, w, t); err != nil {
			return err
		}
	}
}

// An observed is what the switchover to the seed depends on.
type observed struct {
	observation *plan.Observation
	seed        *proved
	pods        map[string]*corev1.Pod
	claims      map[string]*corev1.PersistentVolumeClaim
}

// observe observes the progress of the switchover.
func (c *Controller) observe(ctx context.Context, a *attempt) (*observed, error) {
	if err := c.take(ctx, a); err != nil {
		return nil, err
	}
	seed, err := c.proved(ctx, a)
	if err != nil {
		return nil, err
	}
	w := &observed{seed: seed, pods: map[string]*corev1.Pod{}, claims: map[string]*corev1.PersistentVolumeClaim{}}
	if err := c.oldMembers(ctx, a, w); err != nil {
		return nil, err
	}
	kept, err := c.claims(ctx, a.Namespace, map[string]string{LabelKept: a.Name})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range kept {
		names = append(names, kept[i].Name)
	}
	a.Status.WayBack = wayBack(a.EtcdRestore, names)
	r := &plan.Restore{
		Name: a.Name, Seed: seed.pod.Name, Held: true, Acknowledged: true, Proved: true, DataMoved: len(kept) > 0,
		Forced:   a.forced(),
		Recorded: a.cluster.Status.ClusterID == etcdcluster.ID(seed.clusterID),
		Adopted:  metav1.IsControlledBy(seed.pod, a.cluster),
	}
	w.observation = &plan.Observation{Now: time.Now(), Formed: true}
	if !r.Recorded && !r.DataMoved && !r.Forced {
		if w.observation, err = c.observer.Observe(ctx, a.cluster); err != nil {
			return nil, err
		}
	}
	w.observation.Restore = r
	w.addParts()
	return w, nil
}

// addParts sets which members have pods and claims.
func (w *observed) addParts() {
	known := map[string]bool{}
	for _, m := range w.observation.Members {
		known[m.Name] = true
	}
	names := slices.Concat(slices.Collect(maps.Keys(w.pods)), slices.Collect(maps.Keys(w.claims)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !known[name] {
			w.observation.Members = append(w.observation.Members, plan.Member{Name: name})
		}
	}
	for i := range w.observation.Members {
		m := &w.observation.Members[i]
		m.Claim.Exists = w.claims[m.Name] != nil
		p := w.pods[m.Name]
		m.Pod.Exists, m.Pod.Ending = p != nil, p != nil && p.DeletionTimestamp != nil
	}
}

// oldMembers returns the pods and claims of the cluster except the seed's.
func (c *Controller) oldMembers(ctx context.Context, a *attempt, w *observed) error {
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(a.Namespace), client.MatchingLabels(etcdcluster.LabelsOf(a.cluster.Name))); err != nil {
		return fmt.Errorf("listing the cluster's pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; metav1.IsControlledBy(p, a.cluster) && p.Name != seedName(a.EtcdRestore) {
			w.pods[p.Name] = p
		}
	}
	claims, err := c.claims(ctx, a.Namespace, etcdcluster.LabelsOf(a.cluster.Name))
	if err != nil {
		return err
	}
	for i := range claims {
		if claim := &claims[i]; metav1.IsControlledBy(claim, a.cluster) && claim.Name != seedName(a.EtcdRestore) {
			w.claims[claim.Name] = claim
		}
	}
	return nil
}

// execute executes a step of the switchover.
func (c *Controller) execute(ctx context.Context, a *attempt, w *observed, t *plan.Step) error {
	switch t.Action {
	case plan.RetainUntil:
		return c.setAside(ctx, a, w.claims[t.Member], t)
	case plan.DeletePod:
		p := w.pods[t.Member]
		if err := c.client.Delete(ctx, p, client.Preconditions{UID: &p.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the old member %s: %w", p.Name, err)
		}
		return nil
	case plan.Record:
		return c.record(ctx, a, w.seed)
	case plan.Adopt:
		return c.adopt(ctx, a, w.seed)
	}
	return wait(ReasonEnding, "waits for the old members %s to end; if the node of one is lost, delete its pod with --force --grace-period=0",
		strings.Join(slices.Sorted(maps.Keys(w.pods)), ", "))
}

// setAside sets the claim of an old member aside. It is kept while the EtcdRestore
// exists, and for a while afterwards.
func (c *Controller) setAside(ctx context.Context, a *attempt, claim *corev1.PersistentVolumeClaim, t *plan.Step) error {
	namespace, err := etcdcluster.NamespaceUID(ctx, c.reader, a.Namespace)
	if err != nil {
		return err
	}
	changed, now := claim.DeepCopy(), metav1.Now().Rfc3339Copy()
	metav1.SetMetaDataLabel(&changed.ObjectMeta, LabelKept, a.Name)
	if err := etcdcluster.SetAside(changed, a.cluster, etcdcluster.Aside{
		By: "EtcdRestore/" + a.Name, Restore: a.Name, Reason: t.Cause, Why: t.String(), At: now, Until: metav1.NewTime(now.Add(c.grace)),
	}, namespace); err != nil {
		return err
	}
	if err := c.client.Patch(ctx, changed, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("setting the claim %s aside: %w", claim.Name, err)
	}
	return nil
}

func (c *Controller) claims(ctx context.Context, namespace string, labels map[string]string) ([]corev1.PersistentVolumeClaim, error) {
	var all corev1.PersistentVolumeClaimList
	if err := c.reader.List(ctx, &all, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	return all.Items, nil
}

// wayBack explains how to recover the old cluster.
func wayBack(r *etcdv1beta2.EtcdRestore, kept []string) string {
	if len(kept) == 0 {
		return "none: the old members had no claims"
	}
	return fmt.Sprintf("the old members' data is on the claims %s, until the EtcdRestore %s is deleted, and for a while after it: mount the most recent one in a pod, "+
		"save /data/member/snap/db from it into the bucket after `etcdutl snapshot restore --skip-hash-check` has taken it and `etcdctl snapshot save` "+
		"has saved it again, and restore that", strings.Join(kept, ", "), r.Name)
}

// record writes the seed's status into the cluster's status.
func (c *Controller) record(ctx context.Context, a *attempt, seed *proved) error {
	held, step := a.cluster.Status.HeldBy, a.cluster.Status.Step
	a.cluster.Status = etcdcluster.Adopted(a.cluster, seed.pod, seed.clusterID, seed.memberID, seed.version)
	a.cluster.Status.HeldBy, a.cluster.Status.Step = held, step
	if err := c.client.Status().Update(ctx, a.cluster); err != nil {
		return fmt.Errorf("recording the restored member: %w", err)
	}
	return nil
}

// adopt makes the cluster the owner of the seed's pod and claim.
func (c *Controller) adopt(ctx context.Context, a *attempt, seed *proved) error {
	owner := *metav1.NewControllerRef(a.cluster, etcdv1beta2.GroupVersion.WithKind("EtcdCluster"))
	var seeds []client.Object
	claim := &corev1.PersistentVolumeClaim{}
	err := c.reader.Get(ctx, key(a.Namespace, seed.pod.Name), claim)
	switch {
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
		owners := []metav1.OwnerReference{owner}
		if o == claim {
			if owners, err = etcdcluster.ClaimOwners(ctx, c.reader, a.Namespace, owner); err != nil {
				return err
			}
		}
		o.SetOwnerReferences(owners)
		if err := c.client.Patch(ctx, o, client.MergeFrom(was)); err != nil {
			return fmt.Errorf("adding %s to the cluster: %w", o.GetName(), err)
		}
	}
	return nil
}
