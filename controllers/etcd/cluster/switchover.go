package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// switchover executes the steps in which a restored member replaces the others:
// those in which that differs, and the rest like those of any cluster.
type switchover struct {
	steps
	restore string
	seed    *observe.Restored
	// claim is the restored member's; nil without one.
	claim *corev1.PersistentVolumeClaim
}

var _ plan.Executor = (*switchover)(nil)

// observeSwitchover observes how far the restored member has replaced the others.
// Unless the restore is forced, the first step waits until the cluster cannot
// have a quorum.
func (c *Controller) observeSwitchover(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, r *etcdv1beta2.EtcdRestore, asked member.Switchover) (*switchover, error) {
	d := member.Desire(cluster)
	s := &switchover{steps: steps{c.writer(), c.options, d, nil, c.defragmentations}, restore: r.Name}
	kept, err := observe.KeptClaims(ctx, c.observer.Reader, r)
	if err != nil {
		return nil, err
	}
	is := &plan.Restore{
		Name: r.Name, Seed: asked.Member, Reserved: true, Acknowledged: true, Forced: r.Annotations[wellknown.AnnotationEtcdReplaceRunning] == "true",
		DataMoved: asked.Begun || len(kept) > 0,
	}
	pod, claim, err := c.seedOf(ctx, cluster, r)
	if err != nil {
		return nil, err
	}
	s.claim = claim
	if pod != nil && observe.Ready(pod) {
		if s.seed, err = c.observer.Restored(ctx, cluster, pod); err == nil && s.seed.Unproved(r.Status.EtcdRevision) == "" {
			is.Proved = true
			is.Recorded, is.Adopted = cluster.Status.ClusterID == observe.Hex(s.seed.ClusterID), metav1.IsControlledBy(pod, cluster)
		}
	}
	if is.Recorded || is.DataMoved || is.Forced { // whatever the members answer
		objects, err := c.observer.List(ctx, cluster)
		if err != nil {
			return nil, err
		}
		s.s = &observe.Observed{Observation: plan.Observation{Now: time.Now(), Formed: true}, Objects: objects}
	} else if s.s, err = c.observer.Cluster(ctx, cluster); err != nil {
		return nil, err
	}
	s.s.Restore = is
	s.s.OldMembers()
	return s, nil
}

// RetainUntil implements plan.Executor: the claim is kept while the EtcdRestore
// exists, and for a while afterwards.
func (e *switchover) RetainUntil(ctx context.Context, t plan.Step) error {
	return e.RetainForRestore(ctx, e.d.Cluster, e.restore, e.s.Claims[t.Member], e.options.ClaimGrace, t.String())
}

// DeletePod implements plan.Executor.
func (e *switchover) DeletePod(ctx context.Context, t plan.Step) error {
	return e.deletePod(ctx, t, "the old member "+t.Member)
}

// Record implements plan.Executor: it writes the status of a cluster whose only
// member is the restored one.
func (e *switchover) Record(ctx context.Context, _ plan.Step) error {
	cluster := e.d.Cluster
	p, held, step, certificates := e.seed.Pod, cluster.Status.HeldBy, cluster.Status.Step, cluster.Status.Certificates
	m := etcdv1beta2.MemberStatus{
		Name: p.Name, ID: observe.Hex(e.seed.MemberID), Version: e.seed.Version, TargetVersion: p.Annotations[wellknown.AnnotationEtcdVersion], Ready: true,
		PodRevision: member.RevisionOf(p), StorageRevision: p.Annotations[wellknown.AnnotationEtcdStorageRevision],
		Since: &p.CreationTimestamp,
	}
	if e.d.Storage().Claim {
		m.Claim = p.Name
	}
	cluster.Status = etcdv1beta2.ClusterStatus{
		Phase: etcdv1beta2.ClusterPhaseCreating, ClusterID: observe.Hex(e.seed.ClusterID), ControlPaused: true, HeldBy: held, Step: step, Size: 1,
		TLS: etcd.Encrypted(&cluster.Spec), MemberStatuses: []etcdv1beta2.MemberStatus{m}, CurrentVersion: e.seed.Version,
		Members: etcdv1beta2.MembersStatus{Ready: []string{p.Name}}, Quorum: &etcdv1beta2.QuorumStatus{Voters: 1, Healthy: 1},
		ServiceName: member.ClientService(cluster.Name), ClientPort: member.ClientPort, Space: &etcdv1beta2.SpaceStatus{},
	}
	if certificates != nil {
		cluster.Status.Certificates = &etcdv1beta2.CertificatesStatus{Secrets: certificates.Secrets}
	}
	if err := e.Client.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("recording the restored member: %w", err)
	}
	return nil
}

// Adopt implements plan.Executor: it makes the cluster the owner of the restored
// member's pod and claim.
func (e *switchover) Adopt(ctx context.Context, _ plan.Step) error {
	cluster, p := e.d.Cluster, e.seed.Pod
	if e.claim != nil && !metav1.IsControlledBy(e.claim, cluster) {
		namespace, err := member.NamespaceUID(ctx, e.Reader, p.Namespace)
		if err != nil {
			return err
		}
		if err := e.adopt(ctx, e.claim, member.Owners(cluster, namespace)); err != nil {
			return err
		}
	}
	if metav1.IsControlledBy(p, cluster) {
		return nil
	}
	return e.adopt(ctx, p, member.OwnedBy(cluster))
}

func (e *switchover) adopt(ctx context.Context, o client.Object, owners []metav1.OwnerReference) error {
	was := o.DeepCopyObject().(client.Object)
	o.SetOwnerReferences(owners)
	if err := e.Client.Patch(ctx, o, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("adding %s to the cluster: %w", o.GetName(), err)
	}
	return nil
}
