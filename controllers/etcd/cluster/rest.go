package cluster

import (
	"context"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/etcd/plan"
)

// rereadAfter is how long a cluster may be at rest before its objects are read
// again: nothing watches Secrets, Certificates, and the EtcdRestores that keep
// claims.
const rereadAfter = 15 * time.Minute

// A rest is a cluster without anything to do: what the API server had of it, and
// what followed. As long as the watches show no change, only its members are
// asked. Whatever they answer, nothing is decided from it: if anything differs,
// the controller reads all objects again.
type rest struct {
	desired *member.Desired
	objects *observe.Objects
	plan    plan.Plan
	// watched are the versions of what the watches had before the objects were
	// read.
	watched versions
	read    time.Time
}

// newRest returns the rest of a cluster, without what nobody reads of its objects.
func newRest(d *member.Desired, o *observe.Objects, p plan.Plan, watched versions, read time.Time) *rest {
	for _, pod := range o.Pods {
		pod.ManagedFields = nil
	}
	for _, claims := range []map[string]*corev1.PersistentVolumeClaim{o.Claims, o.Aside} {
		for _, claim := range claims {
			claim.ManagedFields = nil
		}
	}
	return &rest{desired: d, objects: o, plan: p, watched: watched, read: read}
}

// resting are the clusters at rest. The zero value is ready to use.
type resting struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*rest
}

func (r *resting) of(cluster types.NamespacedName) *rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clusters[cluster]
}

// set records that a cluster rests, or with nil that it does not.
func (r *resting) set(cluster types.NamespacedName, is *rest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if is == nil {
		delete(r.clusters, cluster)
		return
	}
	if r.clusters == nil {
		r.clusters = map[types.NamespacedName]*rest{}
	}
	r.clusters[cluster] = is
}

// stillRests asks the members of a cluster at rest, and reports whether it still
// is.
func (c *Controller) stillRests(ctx context.Context, cluster types.NamespacedName) bool {
	r := c.resting.of(cluster)
	if r == nil {
		return false
	}
	if time.Since(r.read) < c.options.Reread && c.unchanged(ctx, r) && c.sameAnswers(ctx, r) {
		return true
	}
	c.resting.set(cluster, nil)
	return false
}

// unchanged reports whether the watches show the versions that were read.
func (c *Controller) unchanged(ctx context.Context, r *rest) bool {
	is := &etcdv1beta2.EtcdCluster{}
	key := types.NamespacedName{Namespace: r.objects.Cluster.Namespace, Name: r.objects.Cluster.Name}
	if err := c.client.Get(ctx, key, is); err != nil || is.ResourceVersion != r.objects.Cluster.ResourceVersion {
		return false
	}
	now, err := c.watched.versions(ctx, key)
	return err == nil && reflect.DeepEqual(now, r.watched)
}

// sameAnswers asks the members, and reports whether the plan and the status stay
// the same.
func (c *Controller) sameAnswers(ctx context.Context, r *rest) bool {
	s, err := c.observer.Observe(ctx, r.desired, r.objects)
	if err != nil {
		return false
	}
	defer s.Close()
	c.metrics.databases(s)
	status := s.Before.DeepCopy()
	s.RecordMembers(r.desired, status)
	p := plan.Next(etcd.Raised(&r.objects.Cluster.Spec, s.Before), &s.Observation)
	s.RecordStep(status, p.Now())
	return mayRest(r.desired, s, p) && reflect.DeepEqual(p, r.plan) && equality.Semantic.DeepEqual(s.Before, status)
}

// mayRest reports whether a cluster serves or hibernates, and nothing is left to
// do by now.
func mayRest(d *member.Desired, s *observe.Observed, p plan.Plan) bool {
	if p.Blocked == plan.Hibernated {
		return p.Now() == nil && d.Missing == "" && d.TLS.Problem == ""
	}
	if len(s.Alarms) > 0 || p.Now() != nil || p.Stalled != nil || !s.Formed || !s.Quorum || d.Missing != "" || s.Credentials != "" || d.Auth.Missing != "" || d.TLS.Problem != "" {
		return false
	}
	for i := range s.Members {
		if m := &s.Members[i]; !m.Listed || !m.Answers || !m.Ready() {
			return false
		}
	}
	return true
}
