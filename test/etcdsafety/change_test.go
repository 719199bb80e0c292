//go:build e2e || soak

package etcdsafety_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
)

// TestAVersionThatDoesNotExistCostsNoMember asks for an image that no registry
// has, and then reverts the change.
func TestAVersionThatDoesNotExistCostsNoMember(t *testing.T) {
	t.Parallel()
	const missing = "3.6.99"
	shared.kubelet.Withhold("v" + missing)
	s := newScene(t, shared, 3)
	members, claims := s.members(), s.claims()
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = missing })
	s.until("a pod asks for the image", func(*etcdv1beta2.EtcdCluster) bool {
		return slices.ContainsFunc(s.pods(), func(p corev1.Pod) bool { return waits(p) == "ImagePullBackOff" })
	})
	wrong := func() string {
		var waiting []string
		for _, p := range s.pods() {
			if waits(p) != "" {
				waiting = append(waiting, p.Name)
			}
		}
		if len(waiting) > 1 {
			return fmt.Sprintf("the change went on to %q after the first did not come up", waiting)
		}
		return s.sameData(claims)
	}
	s.until("the controller says why it does not go on", func(c *etcdv1beta2.EtcdCluster) bool {
		if problem := wrong(); problem != "" {
			t.Fatal(problem)
		}
		stalled := c.Status.Condition("Stalled")
		return stalled != nil && stalled.Status == corev1.ConditionTrue &&
			strings.Contains(stalled.Reason+" "+stalled.Message, "ImagePullBackOff")
	})
	s.throughout(wrong)
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Version = etcd.DefaultVersion })
	s.settled(3)
	if now := s.members(); !slices.Equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
	s.verify()
}

// TestTheLastCopyIsNotEndedForAChange deletes the claim of the only member, which
// stays while a pod uses it, and then edits the pod's spec.
func TestTheLastCopyIsNotEndedForAChange(t *testing.T) {
	t.Parallel()
	s := newScene(t, shared, 1)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.members()[0]}}
	s.must(s.client.Delete(t.Context(), claim))
	s.edit(func(spec *etcdv1beta2.ClusterSpec) { spec.Pod.Labels = map[string]string{"example.com/edited": "true"} })
	s.throughout(func() string {
		if serving := s.serving(); len(serving) == 0 {
			return "no pod is left that serves the data"
		}
		return ""
	})
	s.settled(1)
	if claims := s.claims(); len(claims) != 1 {
		t.Errorf("the member has the claims %v, want one that is not being deleted", claims)
	}
	s.verify()
}

// serving returns the pods with a running container that are not being deleted.
func (s *scene) serving() []string {
	var names []string
	for _, p := range s.pods() {
		if p.DeletionTimestamp == nil && waits(p) == "" && p.Status.Phase == corev1.PodRunning {
			names = append(names, p.Name)
		}
	}
	return names
}

// TestAMemberWhosePeerURLWasEditedIsKept edits it like etcdctl member update.
func TestAMemberWhosePeerURLWasEditedIsKept(t *testing.T) {
	t.Parallel()
	s := newScene(t, shared, 3)
	members, claims := s.members(), s.claims()
	etcdClient, err := s.connect(t.Context())
	s.must(err)
	t.Cleanup(func() { _ = etcdClient.Close() })
	listed, err := etcdClient.MemberList(t.Context())
	s.must(err)
	edited := listed.Members[0]
	pod := &corev1.Pod{}
	s.must(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: edited.Name}, pod))
	_, err = etcdClient.MemberUpdate(t.Context(), edited.ID, []string{"http://" + pod.Status.PodIP + ":2380"})
	s.must(err)
	s.throughout(func() string {
		now := &corev1.Pod{}
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(pod), now); client.IgnoreNotFound(err) != nil {
			return err.Error()
		}
		if now.UID != pod.UID || now.DeletionTimestamp != nil {
			return "the pod of the member was deleted"
		}
		return s.sameData(claims)
	})
	_, err = etcdClient.MemberUpdate(t.Context(), edited.ID, edited.PeerURLs)
	s.must(err)
	s.settled(3)
	if now := s.members(); !slices.Equal(members, now) {
		t.Errorf("the members were %q and are %q", members, now)
	}
	s.verify()
}
