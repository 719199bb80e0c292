package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/etcd/plan"
)

// mayRestore reports whether the controller may apply its restore offer: if the
// cluster asks for it, once for each loss, after the quorum was lost for long
// enough to recover by itself, and unless it may have one all the same.
func mayRestore(c *etcdv1beta2.EtcdCluster, s *plan.Observation, p plan.Plan, settling time.Duration) bool {
	lost, offered := c.Status.Condition(etcdv1beta2.ClusterQuorumLost), c.Status.Restore
	return c.Annotations[wellknown.AnnotationEtcdAutoRestore] == "true" &&
		offered != nil && offered.EtcdRestore == "" && p.Blocked == plan.QuorumLost &&
		lost != nil && lost.Status == corev1.ConditionTrue && s.Now.Sub(lost.LastTransitionTime.Time) >= settling &&
		!s.MayHaveQuorum()
}

// autoRestore creates the offered EtcdRestore, and records it: one that fails,
// or is deleted, is not created again.
func (c *Controller) autoRestore(ctx context.Context, cluster *etcdv1beta2.EtcdCluster) error {
	r := &etcdv1beta2.EtcdRestore{}
	if err := yaml.UnmarshalStrict([]byte(cluster.Status.Restore.Manifest), r); err != nil {
		return fmt.Errorf("reading status.restore.manifest: %w", err)
	}
	r.OwnerReferences = member.OwnedBy(cluster)
	if err := c.client.Create(ctx, r); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating the EtcdRestore %s: %w", r.Name, err)
	}
	cluster.Status.Restore.EtcdRestore = r.Name
	if err := writeStatus(ctx, c.client, cluster); err != nil {
		return err
	}
	c.events.Eventf(cluster, nil, corev1.EventTypeNormal, "RestoreMade", "Restore", "EtcdRestore %s restores %s, at revision %d, as the annotation %s asks",
		r.Name, cluster.Status.Restore.Path, cluster.Status.Restore.EtcdRevision, wellknown.AnnotationEtcdAutoRestore)
	return nil
}
