package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// change asks the cluster's controller to replace the old members with the seed,
// and waits until it has. It withdraws while the old members may have a quorum
// and nothing was changed yet: the phases before this one promise that.
func (c *Controller) change(ctx context.Context, a *attempt) error {
	if err := c.seed(ctx, a); err != nil {
		return err
	}
	seed, err := c.proved(ctx, a)
	if err != nil {
		return err
	}
	kept, err := observe.KeptClaims(ctx, c.reader, a.EtcdRestore)
	if err != nil {
		return err
	}
	a.Status.WayBack = wayBack(a.EtcdRestore, kept)
	recorded := a.cluster.Status.ClusterID == observe.Hex(seed.ClusterID)
	if recorded && metav1.IsControlledBy(seed.Pod, a.cluster) {
		return nil
	}
	asked := member.SwitchoverOf(a.cluster)
	if asked.Member != seed.Pod.Name {
		asked = member.Switchover{Member: seed.Pod.Name}
	}
	if !recorded && !asked.Begun && len(kept) == 0 && !a.forced() {
		o, err := c.observer.Cluster(ctx, a.cluster)
		if err != nil {
			return err
		}
		defer o.Close()
		if o.MayHaveQuorum() { // it withdraws
			if err := c.ask(ctx, a.cluster, member.Switchover{}); err != nil {
				return err
			}
			a.Status.Phase = etcdv1beta2.RestorePhaseProving
			return recovered(a)
		}
	}
	if err := c.ask(ctx, a.cluster, asked); err != nil {
		return err
	}
	objects, err := c.observer.List(ctx, a.cluster)
	if err != nil {
		return err
	}
	return awaitEnd(objects, seed)
}

// ask writes what the restore asks of the cluster's controller, unless anybody has
// changed the cluster since it was read.
func (c *Controller) ask(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, asked member.Switchover) error {
	if asked == member.SwitchoverOf(cluster) {
		return nil
	}
	err := c.writer().WriteSwitchover(ctx, cluster, asked)
	if apierrors.IsConflict(err) {
		return wait(ReasonEnding, "waits for the EtcdCluster controller to replace the old members")
	}
	return err
}

// awaitEnd says how the switchover waits for the old members.
func awaitEnd(objects *observe.Objects, seed *observe.Restored) error {
	delete(objects.Pods, seed.Pod.Name)
	old := slices.Sorted(maps.Keys(objects.Pods))
	ending := slices.DeleteFunc(slices.Clone(old), func(name string) bool { return objects.Pods[name].DeletionTimestamp == nil })
	if len(ending) > 0 {
		return wait(ReasonEnding, "waits for the old members %s to end; %s", strings.Join(old, ", "), lostNode(objects.Pods[ending[0]]))
	}
	return wait(ReasonEnding, "waits for the EtcdCluster controller to replace the old members")
}

// lostNode says what to do if the node of a pod that is being deleted does not
// come back: only a person knows that nothing runs there any more.
func lostNode(p *corev1.Pod) string {
	return fmt.Sprintf("if the node %s is lost for good, run: kubectl -n %s delete pod %s --force --grace-period=0", p.Spec.NodeName, p.Namespace, p.Name)
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
