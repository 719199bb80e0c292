package restore

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

// forced reports whether the user allows the restore to replace a cluster that
// works.
func (a *attempt) forced() bool {
	return a.Annotations[wellknown.AnnotationEtcdReplaceRunning] == "true"
}

// replaceable returns why the restore may not replace the cluster, or may not
// do so yet: whatever its status says, no restore discards a cluster that may
// have a quorum without the user's word.
func (c *Controller) replaceable(ctx context.Context, a *attempt) error {
	if a.cluster.Spec.Hibernated {
		return stop(ReasonHibernated, "the EtcdCluster %s hibernates, and a restored member would have to stop at once: write spec.hibernated: false in the EtcdCluster", a.cluster.Name)
	}
	if a.forced() {
		return nil
	}
	o, err := c.observer.Cluster(ctx, a.cluster)
	if err != nil {
		return err
	}
	defer o.Close()
	living, all := o.Census()
	switch lost := a.cluster.Status.Condition(etcdv1beta2.ClusterQuorumLost); {
	case !o.MayHaveQuorum():
		return nil
	case living < etcd.Quorum(all) && !o.Quorum:
		return wait(ReasonRunning, "%d of %d voting members of the EtcdCluster %s live, and the others may still come back: waits until they have been silent for the member timeout; "+
			"to discard everything written since the backup, add the annotation %s: \"true\" to the EtcdRestore", living, all, a.cluster.Name, wellknown.AnnotationEtcdReplaceRunning)
	case lost != nil && lost.Status == corev1.ConditionTrue:
		return wait(ReasonRunning, "the EtcdCluster %s has lost most of its members but still answers: waits until it does not", a.cluster.Name)
	case !early(a.Status.Phase) || a.Status.Phase == etcdv1beta2.RestorePhaseProving:
		return recovered(a)
	}
	return stop(ReasonRunning, "%d of %d voting members of the EtcdCluster %s live, so that it works, or may: to discard everything written to it since the backup, add the annotation %s: \"true\" to the EtcdRestore",
		living, all, a.cluster.Name, wellknown.AnnotationEtcdReplaceRunning)
}

func recovered(a *attempt) error {
	return stop(ReasonRunning, "the EtcdCluster %s has recovered in the meantime: delete this EtcdRestore to keep the cluster, or, to discard everything written to it since the backup, add the annotation %s: \"true\" to the EtcdRestore", a.cluster.Name, wellknown.AnnotationEtcdReplaceRunning)
}
