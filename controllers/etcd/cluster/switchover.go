package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// A Restored is a member with the data of a backup, which answers.
type Restored struct {
	Pod *corev1.Pod
	// ClusterID and MemberID are etcd's IDs.
	ClusterID, MemberID uint64
	Version             string
}

// A Switchover replaces the members of a cluster with a restored one. It
// executes the steps of a plan on what was observed: those in which a restore
// differs, and the others like the controller of clusters.
type Switchover struct {
	steps
	// Observation is what the plan depends on.
	Observation *plan.Observation
	// Kept are the claims that the EtcdRestore keeps, Old the old members that
	// have pods.
	Kept, Old []string

	restore  string
	restored Restored
}

var _ plan.Executor = (*Switchover)(nil)

// Switchover observes how far the restored member has replaced the others in a
// cluster that the EtcdRestore has reserved. Unless it is forced, the first step
// waits until the cluster cannot have a quorum.
func (c *Controller) Switchover(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, restore string, restored Restored, forced bool) (*Switchover, error) {
	s := &Switchover{
		steps:   steps{c, member.Desire(cluster), &observed{pods: map[string]*corev1.Pod{}, claims: map[string]*corev1.PersistentVolumeClaim{}}},
		restore: restore, restored: restored,
	}
	if err := s.listOld(ctx); err != nil {
		return nil, err
	}
	var kept corev1.PersistentVolumeClaimList
	if err := c.reader.List(ctx, &kept, client.InNamespace(cluster.Namespace), client.MatchingLabels{wellknown.LabelEtcdKept: restore}); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	for i := range kept.Items {
		s.Kept = append(s.Kept, kept.Items[i].Name)
	}
	r := &plan.Restore{
		Name: restore, Seed: restored.Pod.Name, Held: true, Acknowledged: true, Proved: true, Forced: forced, DataMoved: len(s.Kept) > 0,
		Recorded: cluster.Status.ClusterID == hex(restored.ClusterID),
		Adopted:  metav1.IsControlledBy(restored.Pod, cluster),
	}
	s.Observation = &plan.Observation{Now: time.Now(), Formed: true}
	if !r.Recorded && !r.DataMoved && !r.Forced {
		var err error
		if s.Observation, err = c.Observe(ctx, cluster); err != nil {
			return nil, err
		}
	}
	s.Observation.Restore = r
	s.addParts()
	return s, nil
}

// listOld lists the pods and claims of the old members.
func (s *Switchover) listOld(ctx context.Context) error {
	cluster, reader := s.d.Cluster, s.c.reader
	of := []client.ListOption{client.InNamespace(cluster.Namespace), client.MatchingLabels(member.LabelsOf(cluster.Name))}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, of...); err != nil {
		return fmt.Errorf("listing the cluster's pods: %w", err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; metav1.IsControlledBy(p, cluster) && p.Name != s.restored.Pod.Name {
			s.s.pods[p.Name] = p
		}
	}
	var claims corev1.PersistentVolumeClaimList
	if err := reader.List(ctx, &claims, of...); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range claims.Items {
		if claim := &claims.Items[i]; metav1.IsControlledBy(claim, cluster) && claim.Name != s.restored.Pod.Name {
			s.s.claims[claim.Name] = claim
		}
	}
	s.Old = slices.Sorted(maps.Keys(s.s.pods))
	return nil
}

// addParts sets which members have pods and claims.
func (s *Switchover) addParts() {
	known := map[string]bool{}
	for _, m := range s.Observation.Members {
		known[m.Name] = true
	}
	names := slices.Concat(s.Old, slices.Collect(maps.Keys(s.s.claims)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !known[name] {
			s.Observation.Members = append(s.Observation.Members, plan.Member{Name: name})
		}
	}
	for i := range s.Observation.Members {
		m := &s.Observation.Members[i]
		m.Claim.Exists = s.s.claims[m.Name] != nil
		p := s.s.pods[m.Name]
		m.Pod.Exists, m.Pod.Ending = p != nil, p != nil && p.DeletionTimestamp != nil
	}
}

// RetainUntil implements plan.Executor: the claim is kept while the EtcdRestore
// exists, and for a while afterwards.
func (s *Switchover) RetainUntil(ctx context.Context, t plan.Step) error {
	return s.c.RetainForRestore(ctx, s.d.Cluster, s.restore, s.s.claims[t.Member], t.String())
}

// DeletePod implements plan.Executor.
func (s *Switchover) DeletePod(ctx context.Context, t plan.Step) error {
	return s.deletePod(ctx, t, "the old member "+t.Member)
}

// Record implements plan.Executor: it writes the status of a cluster whose only
// member is the restored one.
func (s *Switchover) Record(ctx context.Context, _ plan.Step) error {
	cluster := s.d.Cluster
	p, held, step := s.restored.Pod, cluster.Status.HeldBy, cluster.Status.Step
	m := etcdv1beta2.MemberStatus{
		Name: p.Name, ID: hex(s.restored.MemberID), Version: s.restored.Version, TargetVersion: p.Annotations[wellknown.AnnotationEtcdVersion], Ready: true,
		PodRevision: p.Annotations[wellknown.AnnotationEtcdPodRevision], StorageRevision: p.Annotations[wellknown.AnnotationEtcdStorageRevision],
		Since: &p.CreationTimestamp,
	}
	if s.d.Storage().Claim {
		m.Claim = p.Name
	}
	cluster.Status = etcdv1beta2.ClusterStatus{
		Phase: etcdv1beta2.ClusterPhaseCreating, ClusterID: hex(s.restored.ClusterID), ControlPaused: true, HeldBy: held, Step: step, Size: 1,
		TLS: etcd.Encrypted(&cluster.Spec), MemberStatuses: []etcdv1beta2.MemberStatus{m}, CurrentVersion: s.restored.Version,
		Members: etcdv1beta2.MembersStatus{Ready: []string{p.Name}}, Quorum: &etcdv1beta2.QuorumStatus{Voters: 1, Healthy: 1},
		ServiceName: member.ClientService(cluster.Name), ClientPort: member.ClientPort,
	}
	if err := s.c.client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("recording the restored member: %w", err)
	}
	return nil
}

// Adopt implements plan.Executor: it makes the cluster the owner of the restored
// member's pod and claim.
func (s *Switchover) Adopt(ctx context.Context, _ plan.Step) error {
	cluster, p := s.d.Cluster, s.restored.Pod
	claim := &corev1.PersistentVolumeClaim{}
	err := s.c.reader.Get(ctx, client.ObjectKeyFromObject(p), claim)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && !metav1.IsControlledBy(claim, cluster) {
		namespace, err := s.c.namespaceUID(ctx, p.Namespace)
		if err != nil {
			return err
		}
		if err := s.adopt(ctx, claim, member.Owners(cluster, namespace)); err != nil {
			return err
		}
	}
	if metav1.IsControlledBy(p, cluster) {
		return nil
	}
	return s.adopt(ctx, p, member.OwnedBy(cluster))
}

func (s *Switchover) adopt(ctx context.Context, o client.Object, owners []metav1.OwnerReference) error {
	was := o.DeepCopyObject().(client.Object)
	o.SetOwnerReferences(owners)
	if err := s.c.client.Patch(ctx, o, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("adding %s to the cluster: %w", o.GetName(), err)
	}
	return nil
}
