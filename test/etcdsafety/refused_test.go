package etcdsafety_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/kubelet"
)

// authenticate enables etcd's authentication, for which usher has no
// credentials.
func (s *scene) authenticate() {
	s.Helper()
	etcd, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = etcd.Close() }()
	password := "a-password"
	_, err = etcd.UserAdd(s.Context(), "root", password)
	s.must(err)
	_, err = etcd.UserGrantRole(s.Context(), "root", "root")
	s.must(err)
	_, err = etcd.AuthEnable(s.Context())
	s.must(err)
	s.password.Store(&password)
}

// obstruct obstructs the controller's way to members: the others, and clients,
// still reach them.
func (s *scene) obstruct(way kubelet.Way, members ...string) {
	s.Helper()
	for _, m := range members {
		s.must(s.kubelet.Obstruct(s.Context(), s.namespace, m, way))
	}
}

// hidden are the ways in which a cluster answers everyone but the controller.
var hidden = map[string]func(*scene){
	"authentication": func(s *scene) { s.authenticate() },
	"slow answers":   func(s *scene) { s.obstruct(kubelet.Slow, s.members()...) },
	"no answers":     func(s *scene) { s.obstruct(kubelet.Silent, s.members()...) },
	"a cut":          func(s *scene) { s.obstruct(kubelet.Cut, s.members()...) },
}

// TestAClusterHiddenFromTheController_IsNotReplaced restores a backup without
// the annotation over a cluster that acknowledges writes.
func TestAClusterHiddenFromTheController_IsNotReplaced(t *testing.T) {
	t.Parallel()
	for name, hide := range hidden {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, shared, 3)
			store := s.store()
			backup := s.backUp(store)
			members, claims, before := s.members(), s.claims(), s.cluster()
			hide(s)
			s.until("no member answers the controller", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) == 0 })
			writes := s.traffic.Writes()
			available := true
			untouched := func() string {
				c := s.cluster()
				available = available && says(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionTrue
				if c.Status.ClusterID != before.Status.ClusterID || c.Annotations[wellknown.AnnotationEtcdRestore] != "" {
					return "the restore has the cluster"
				}
				return s.sameData(claims)
			}
			s.throughout(untouched) // a controller that sees nothing else believes its client by now
			s.must(s.client.Create(t.Context(), s.restoreOf(store, "back", backup.Status.Path)))
			s.eventually("the restore is refused", func(ctx context.Context) (bool, error) {
				if problem := untouched(); problem != "" {
					return false, errors.New(problem)
				}
				return s.restoreSays(ctx, "back") == "ClusterRunning", nil
			})
			s.throughout(untouched)
			if !available {
				t.Error("the cluster was said not to be available, and it acknowledged writes")
			}
			if c := s.cluster(); says(c, etcdv1beta2.ClusterMissingCredentials) == corev1.ConditionTrue != (name == "authentication") {
				t.Errorf("missing credentials: %v", c.Status.Condition(etcdv1beta2.ClusterMissingCredentials))
			}
			if more := s.traffic.Writes() - writes; more < 100 {
				t.Errorf("only %d writes were acknowledged meanwhile", more)
			}
			if now := s.members(); !slices.Equal(members, now) {
				t.Errorf("the members were %q and are %q", members, now)
			}
			s.verify()
		})
	}
}

// restoreSays returns the reason of an EtcdRestore's condition.
func (s *scene) restoreSays(ctx context.Context, name string) string {
	s.Helper()
	r := &etcdv1beta2.EtcdRestore{}
	s.must(s.client.Get(context.WithoutCancel(ctx), client.ObjectKey{Namespace: s.namespace, Name: name}, r))
	if restored := meta.FindStatusCondition(r.Status.Conditions, "Restored"); restored != nil {
		return restored.Reason
	}
	return ""
}

// TestAMemberThatCameBack_IsNotLostBecauseOfWhatItSaidBefore takes the volume of
// a member away for a moment, and later only the controller's way to it.
func TestAMemberThatCameBack_IsNotLostBecauseOfWhatItSaidBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t, shared, 3)
	members, claims := s.members(), s.claims()
	victim := members[0]
	s.must(s.kubelet.Unmount(s.namespace, victim))
	said := func(running bool) bool {
		return slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool {
			return p.Name == victim && slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
				ended := c.LastTerminationState.Terminated
				runs := c.Ready && c.State.Running != nil
				return runs == running && (runs || c.State.Running == nil) && ended != nil && strings.Contains(ended.Message, "could not retrieve cluster information")
			})
		})
	}
	s.until("it ends without its data", func(*etcdv1beta2.EtcdCluster) bool { return said(false) })
	s.must(s.kubelet.Mount(s.namespace, victim))
	s.until("it runs again, and its status keeps what it said", func(*etcdv1beta2.EtcdCluster) bool { return said(true) })
	s.settled(3)
	s.obstruct(kubelet.Cut, victim)
	s.until("the controller does not reach it", func(c *etcdv1beta2.EtcdCluster) bool { return len(c.Status.Members.Ready) == 2 })
	s.during(2*settlingTime, func() string {
		if now := s.members(); !slices.Equal(members, now) {
			return fmt.Sprintf("the members were %q and are %q", members, now)
		}
		return s.sameData(claims)
	})
	s.verify()
}

// TestAKubeletThatDoesNotReport_VouchesForNobody ends the only member and its
// node at once: the pod's status says for ever that it is ready.
func TestAKubeletThatDoesNotReport_VouchesForNobody(t *testing.T) {
	t.Parallel()
	s := newScene(t, shared, 1)
	claims, member := s.claims(), s.members()[0]
	s.must(s.kubelet.LoseNode(t.Context(), s.namespace, member))
	s.must(s.kubelet.Kill(s.namespace, member))
	s.until("the cluster is said not to be available", func(c *etcdv1beta2.EtcdCluster) bool {
		return says(c, etcdv1beta2.ClusterAvailable) == corev1.ConditionFalse
	})
	for _, p := range s.pods() {
		if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			t.Errorf("the status of the pod is %+v", p.Status)
		}
	}
	s.must(s.kubelet.Connect(t.Context(), s.namespace, member))
	s.settled(1)
	if problem := s.sameData(claims); problem != "" {
		t.Error(problem)
	}
	s.verify()
}
