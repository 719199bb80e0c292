package cluster_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
)

// rests waits until the controller has observed the cluster many times without a
// read from the API server.
func (s *scene) rests() {
	s.Helper()
	reads, looked := s.reads.Load(), s.looked.Load()
	s.until("the cluster is at rest", func(*etcdv1beta2.EtcdCluster) bool {
		if now := s.reads.Load(); now != reads {
			reads, looked = now, s.looked.Load()
		}
		return s.looked.Load() >= looked+5
	})
}

// restScene returns a scene whose objects the controller does not read again while
// the cluster is at rest.
func restScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	s.reread = time.Hour
	s.start()
	return s
}

// TestAClusterAtRest_ThatSomebodyChanges_IsPutRight changes what the controller
// has read before the cluster came to rest.
func TestAClusterAtRest_ThatSomebodyChanges_IsPutRight(t *testing.T) {
	s := restScene(t)
	s.create(onClaims(1))
	s.settled(1, v36)
	name := s.names()[0]
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	get := func(o client.Object) {
		t.Helper()
		s.must(shared.client.Get(s.ctx, client.ObjectKeyFromObject(o), o))
	}
	for _, c := range []struct {
		what   string
		change func()
		right  func(*etcdv1beta2.EtcdCluster) bool
	}{
		{
			"the selector of the Service", func() {
				get(service)
				service.Spec.Selector["else"] = "where"
				s.must(shared.client.Update(s.ctx, service))
			},
			func(*etcdv1beta2.EtcdCluster) bool { get(service); return service.Spec.Selector["else"] == "" },
		},
		{
			"the annotation of the claim", func() {
				get(claim)
				delete(claim.Annotations, wellknown.AnnotationEtcdMember)
				s.must(shared.client.Update(s.ctx, claim))
			},
			func(*etcdv1beta2.EtcdCluster) bool {
				get(claim)
				return claim.Annotations[wellknown.AnnotationEtcdMember] != ""
			},
		},
		{
			"the status of the cluster", func() {
				cluster := s.cluster()
				cluster.Status.Members = etcdv1beta2.MembersStatus{}
				s.must(shared.client.Status().Update(s.ctx, cluster))
			},
			func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) == 1 },
		},
	} {
		s.rests()
		c.change()
		s.until(c.what+" is put right", c.right)
	}
}

// TestAClusterAtRest_WhoseMembersChange_IsReported changes the leader, which only
// etcd knows.
func TestAClusterAtRest_WhoseMembersChange_IsReported(t *testing.T) {
	s := restScene(t)
	s.create(ofSize(3))
	s.settled(3, v36)
	s.rests()
	etcd, err := s.client(s.ctx)
	s.must(err)
	t.Cleanup(func() { _ = etcd.Close() })
	for _, endpoint := range etcd.Endpoints() {
		status, err := etcd.Status(s.ctx, endpoint)
		s.must(err)
		if status.Leader == status.Header.MemberId {
			etcd.SetEndpoints(endpoint)
		}
	}
	leader := func(c *etcdv1beta2.EtcdCluster) (name, other string) {
		for _, m := range c.Status.MemberStatuses {
			if m.Leader {
				name = m.Name
			} else {
				other = m.ID
			}
		}
		return name, other
	}
	was, other := leader(s.cluster())
	next, err := strconv.ParseUint(other, 16, 64)
	s.must(err)
	s.until("another member leads", func(*etcdv1beta2.EtcdCluster) bool { // once the client has left the others
		_, err := etcd.MoveLeader(s.ctx, next)
		return err == nil
	})
	s.until("the status has it", func(c *etcdv1beta2.EtcdCluster) bool {
		is, _ := leader(c)
		return is != "" && is != was
	})
}

// TestAClusterAtRest_WhoseSecretIsDeleted_SaysSo deletes what nothing watches.
func TestAClusterAtRest_WhoseSecretIsDeleted_SaysSo(t *testing.T) {
	s := newScene(t)
	s.encrypted(1)
	s.rests()
	s.must(shared.client.Delete(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "peer"}}))
	s.until("the Secret is missed", func(c *etcdv1beta2.EtcdCluster) bool {
		invalid := c.Status.Condition(etcdv1beta2.ClusterInvalidCertificates)
		return invalid != nil && invalid.Status == corev1.ConditionTrue && strings.Contains(invalid.Message, "the Secret peer does not exist")
	})
}

// TestAClusterWithClaimsSetAside_Rests until somebody deletes one of them.
func TestAClusterWithClaimsSetAside_Rests(t *testing.T) {
	s := restScene(t)
	s.create(onClaims(3))
	s.settled(3, v36)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Size = 1 })
	s.settled(1, v36)
	s.until("two claims are set aside", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.SetAside) == 2 })
	s.rests()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.cluster().Status.SetAside[0].Claim}}
	s.must(shared.client.Delete(s.ctx, claim))
	s.until("one is left", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.SetAside) == 1 })
}
