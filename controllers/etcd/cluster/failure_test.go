package cluster_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/controllers/etcd/member"
	"github.com/usher-dev/usher/controllers/etcd/observe"
)

// stalled waits until the cluster is stalled for a reason.
func (s *scene) stalled(reason, says string) {
	s.Helper()
	s.until("it is stalled: "+reason, func(c *etcdv1beta2.EtcdCluster) bool {
		is := c.Status.Condition(etcdv1beta2.ClusterStalled)
		return is != nil && is.Status == corev1.ConditionTrue && is.Reason == reason && strings.Contains(is.Message, says)
	})
}

// goesOn waits until nothing is stalled.
func (s *scene) goesOn() {
	s.Helper()
	s.until("nothing is stalled", func(c *etcdv1beta2.EtcdCluster) bool {
		return condition(c, etcdv1beta2.ClusterStalled) == corev1.ConditionFalse && condition(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue
	})
}

// A learner is a client of etcd that may not promote learners.
type learner struct {
	observe.EtcdClient
	refused *atomic.Bool
}

func (l learner) Promote(ctx context.Context, id uint64) error {
	if l.refused.Load() {
		return rpctypes.ErrMemberLearnerNotReady
	}
	return l.EtcdClient.Promote(ctx, id)
}

func TestALearnerThatIsNotPromoted_IsReported(t *testing.T) {
	s := emptyScene(t)
	var refused atomic.Bool
	refused.Store(true)
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return c }, func(e observe.EtcdClient) observe.EtcdClient { return learner{e, &refused} })
	}
	s.start()
	s.create(onClaims(1))
	s.settled(1, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 2 })
	s.stalled("PutOff", "can only promote a learner member which is in sync with leader; the learner has not caught up")
	refused.Store(false)
	s.settled(2, v36)
	s.goesOn()
}

// A denying client may not create pods.
type denying struct {
	client.Client
	denies *atomic.Bool
}

func (d denying) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if _, ok := o.(*corev1.Pod); ok && d.denies.Load() {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), nil)
	}
	return d.Client.Create(ctx, o, options...)
}

// TestErrors_AreConditions denies the controller what it needs: to create a pod,
// and then to list the claims, without which it cannot observe the cluster.
func TestErrors_AreConditions(t *testing.T) {
	s := emptyScene(t)
	var denies, blind atomic.Bool
	denies.Store(true)
	s.change = func(c *etcdcluster.Controller) {
		c.Wrap(func(c client.Client) client.Client { return denying{c, &denies} }, func(e observe.EtcdClient) observe.EtcdClient { return e })
		c.FailLists(func() error {
			if blind.Load() {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
			}
			return nil
		})
	}
	s.start()
	s.create(onClaims(1))
	s.stalled("ReconcileFailed", "forbidden")
	denies.Store(false)
	s.settled(1, v36)
	s.goesOn()
	blind.Store(true)
	s.stalled("ReconcileFailed", "listing the cluster's pods: pods is forbidden")
	if got := condition(s.cluster(), etcdv1beta2.ClusterAvailable); got != corev1.ConditionUnknown {
		t.Errorf("nobody can tell, and Available is %s", got)
	}
	blind.Store(false)
	s.goesOn()
}

// TestANameThatIsTaken_IsReported has a Service of the cluster's name, which keeps
// the controller from the next step and not from observing.
func TestANameThatIsTaken_IsReported(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	service := &corev1.Service{}
	s.must(shared.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, service))
	service.OwnerReferences, service.Labels = nil, map[string]string{"of": "another"}
	s.must(shared.client.Update(s.ctx, service))
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 3 })
	s.stalled("NameTaken", "the Service example: example exists and does not belong to the cluster: delete it")
	if c := s.cluster(); condition(c, etcdv1beta2.ClusterAvailable) != corev1.ConditionTrue || len(s.pods()) != 1 {
		t.Errorf("the cluster is not as it was: %v", c.Status.Conditions)
	}
	s.must(shared.client.Delete(s.ctx, service))
	s.settled(3, v36)
	s.goesOn()
}

// orphan deletes the cluster and not its objects, as kubectl delete
// --cascade=orphan does.
func (s *scene) orphan() {
	s.Helper()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}} {
		s.must(shared.client.List(s.ctx, list, client.InNamespace(s.namespace), client.MatchingLabels(member.LabelsOf(s.name))))
		for _, o := range objects(list) {
			o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Kind == "EtcdCluster" }))
			s.must(shared.client.Update(s.ctx, o))
		}
	}
	s.must(shared.client.Delete(s.ctx, s.cluster()))
}

func objects(list client.ObjectList) (all []client.Object) {
	switch list := list.(type) {
	case *corev1.PodList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *corev1.PersistentVolumeClaimList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *corev1.ServiceList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *policyv1.PodDisruptionBudgetList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

// retained writes the decision about a former cluster.
func (s *scene) retained(answer string) {
	s.Helper()
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationEtcdRetained, answer)
	s.must(shared.client.Patch(s.ctx, c, patch))
}

// TestTheMembersOfAnOrphanedCluster_AreAdopted while clients write to them.
func TestTheMembersOfAnOrphanedCluster_AreAdopted(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	w := s.write()
	members, pods := s.names(), s.uids()
	s.stop()
	s.orphan()
	s.start()
	s.create(onClaims(3))
	s.stalled("NameTaken", `write the annotation etcd.usher.dev/retained-claims: "adopt"`)
	s.retained("adopt")
	s.settled(3, v36)
	s.goesOn()
	if now := s.names(); !equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
	if now := s.uids(); !equal(pods, now) {
		t.Errorf("the pods were %q and are %q", pods, now)
	}
	w.verify()
	// They are the cluster's again.
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
	s.settled(1, v36)
}

// uids returns the UIDs of the pods.
func (s *scene) uids() []string {
	s.Helper()
	var all []string
	for _, p := range s.pods() {
		all = append(all, string(p.UID))
	}
	slices.Sort(all)
	return all
}

// TestAClaimThatCannotBeIdentified_IsNamed adopts the claims of a cluster that was
// deleted before a learner ran.
func TestAClaimThatCannotBeIdentified_IsNamed(t *testing.T) {
	s := newScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	former := s.cluster()
	s.until("the claim says whose it is", func(*etcdv1beta2.EtcdCluster) bool {
		claim := &corev1.PersistentVolumeClaim{}
		s.must(shared.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: former.Status.MemberStatuses[0].Name}, claim))
		return claim.Annotations[wellknown.AnnotationEtcdMember] != ""
	})
	s.stop()
	unidentified := member.Desire(former).Claim("example-learner", types.UID("none"))
	unidentified.OwnerReferences = nil
	s.must(shared.client.Create(s.ctx, unidentified))
	s.orphan()
	s.deletePod(s.pods()[0].Name)
	s.start()
	s.create(onClaims(1))
	s.retained("adopt")
	s.until("the claim is named", func(c *etcdv1beta2.EtcdCluster) bool {
		told := c.Status.Condition(etcdv1beta2.ClusterRetainedClaims)
		return told != nil && told.Status == corev1.ConditionTrue && strings.Contains(told.Message, "the claim example-learner does not name") &&
			!strings.Contains(told.Message, "not used") && c.Status.Reason == told.Message
	})
	s.must(shared.client.Delete(s.ctx, unidentified))
	s.settled(1, v36)
	if now := s.names(); !equal(now, []string{former.Status.MemberStatuses[0].Name}) {
		t.Errorf("the member is %q", now)
	}
}
