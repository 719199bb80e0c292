package cluster

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

func writeStatus(ctx context.Context, to client.Client, cluster *etcdv1beta2.EtcdCluster) error {
	if err := to.Status().Update(ctx, cluster); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// report writes the observation and the next step, if they changed. The step
// follows afterwards: the write fails if the status changed since it was read.
func (c *Controller) report(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, d *member.Desired, s *observe.Observed, p plan.Plan) error {
	st := &cluster.Status
	st.ObservedGeneration, st.ControlPaused, st.HeldBy = cluster.Generation, cluster.Spec.Paused, ""
	st.ServiceName, st.ClientPort = member.ClientService(cluster.Name), member.ClientPort
	st.Selector = member.VotersOf(cluster.Name).AsSelector().String()
	st.IgnoredFields = ignored(&cluster.Spec)
	t := p.Now()
	st.Step = ""
	switch {
	case t != nil:
		st.Step = t.String()
	case p.Blocked == plan.Paused || p.Blocked == plan.MissingReference:
		st.Step = p.Message
	}
	s.RecordStep(st, t)
	c.judge(ctx, cluster, d, s, p)
	c.metrics.observe(cluster)
	c.metrics.databases(s)
	if equality.Semantic.DeepEqual(s.Before, st) {
		return nil
	}
	err := writeStatus(ctx, c.client, cluster)
	if !apierrors.IsConflict(err) {
		return err
	}
	if again := c.keepUp(ctx, cluster, s.Before); again != nil {
		return errors.Join(err, again)
	}
	return writeStatus(ctx, c.client, cluster)
}

// keepUp gives a cluster the resource version that it has now if nothing changed that
// the observation depends on. An observation of members that do not answer takes seconds,
// and others may annotate the cluster more often than that.
func (c *Controller) keepUp(ctx context.Context, cluster *etcdv1beta2.EtcdCluster, before *etcdv1beta2.ClusterStatus) error {
	now := &etcdv1beta2.EtcdCluster{}
	if err := c.observer.Reader.Get(ctx, client.ObjectKeyFromObject(cluster), now); err != nil {
		return err
	}
	same := now.UID == cluster.UID && now.Generation == cluster.Generation && now.DeletionTimestamp == nil &&
		now.Annotations[wellknown.AnnotationEtcdRestore] == cluster.Annotations[wellknown.AnnotationEtcdRestore] && equality.Semantic.DeepEqual(&now.Status, before)
	if !same {
		return errors.New("the cluster changed while it was observed")
	}
	cluster.ResourceVersion = now.ResourceVersion
	return nil
}

// ignored returns the fields that have no effect, and the variables that repeat
// a flag.
func ignored(spec *etcdv1beta2.ClusterSpec) []string {
	fields := etcd.IgnoredFields(spec)
	if spec.Pod != nil {
		for i, e := range spec.Pod.EtcdEnv {
			if etcd.IgnoredVariable(spec, e.Name) || etcd.SpaceVariable(spec, e.Name) {
				fields = append(fields, fmt.Sprintf("spec.pod.etcdEnv[%d]", i))
			}
		}
	}
	return fields
}
