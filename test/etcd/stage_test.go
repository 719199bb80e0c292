//go:build e2e

package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/cluster/usher"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// A scene is a namespace with a cluster in it, separate from other tests. Its
// pods must meet the restricted level of Pod Security.
type scene struct {
	*testing.T
	namespace, name string
	secure          *tls.Config
	// failed is the failed expectation, repeated below the logs.
	failed string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	return newSceneAlone(t)
}

// newSceneAlone is newScene for a test that other tests would disturb.
func newSceneAlone(t *testing.T) *scene {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "etcd-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	s := &scene{T: t, name: "example"}
	s.must(shared.client.Create(t.Context(), ns))
	s.namespace = ns.Name
	t.Cleanup(func() {
		ctx := context.Background()
		if t.Failed() {
			out, _ := shared.Kubectl(ctx, "", "-n", s.namespace, "get", "etcdclusters", "-o", "yaml")
			t.Log(out)
			shared.Dump(ctx, t.Output(), s.namespace, usher.Namespace)
			t.Log(s.failed)
		}
		_ = shared.client.Delete(ctx, ns)
	})
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// create creates the cluster.
func (s *scene) create(spec etcdv1beta2.ClusterSpec) {
	s.Helper()
	s.must(shared.client.Create(s.Context(), &etcdv1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}, Spec: spec,
	}))
}

// edit changes the cluster's spec.
func (s *scene) edit(change func(*etcdv1beta2.ClusterSpec)) {
	s.Helper()
	c, err := s.cluster(s.Context())
	s.must(err)
	patch := client.MergeFrom(c.DeepCopy())
	change(&c.Spec)
	s.must(shared.client.Patch(s.Context(), c, patch))
}

func (s *scene) cluster(ctx context.Context) (*etcdv1beta2.EtcdCluster, error) {
	c := &etcdv1beta2.EtcdCluster{}
	return c, shared.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, c)
}

// until waits until the cluster meets a condition, and returns how long that
// took: it waits longer than the kubelet's maximum back-off.
func (s *scene) until(what string, holds func(*etcdv1beta2.EtcdCluster) bool) time.Duration {
	s.Helper()
	start := time.Now()
	err := wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 7*time.Minute, true, func(ctx context.Context) (bool, error) {
		c, err := s.cluster(ctx)
		return err == nil && holds(c), nil
	})
	if err != nil {
		s.failed = fmt.Sprintf("waiting until %s: %v", what, err)
		s.Fatal(s.failed)
	}
	took := time.Since(start).Round(100 * time.Millisecond)
	s.Logf("%s after %s", what, took)
	return took
}

// whole reports whether that many members of a version are ready, and nothing
// is left to do.
func whole(c *etcdv1beta2.EtcdCluster, size int, version string) bool {
	st := c.Status
	if st.ObservedGeneration != c.Generation || st.Phase != etcdv1beta2.ClusterPhaseRunning || st.Step != "" ||
		len(st.MemberStatuses) != size || len(st.Members.Ready) != size {
		return false
	}
	return !slices.ContainsFunc(st.MemberStatuses, func(m etcdv1beta2.MemberStatus) bool { return m.Learner || m.Version != version })
}

// settled waits until the cluster is healthy.
func (s *scene) settled(size int, version string) {
	s.Helper()
	s.until(fmt.Sprintf("%d members run %s", size, version), func(c *etcdv1beta2.EtcdCluster) bool { return whole(c, size, version) })
}

// names returns the names of the members.
func (s *scene) names() []string {
	s.Helper()
	c, err := s.cluster(s.Context())
	s.must(err)
	var names []string
	for _, m := range c.Status.MemberStatuses {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// pods returns the cluster's pods that are not being deleted.
func (s *scene) pods() []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	s.must(shared.client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels{"etcd_cluster": s.name}))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// deletePods deletes pods without grace period, as after the loss of a machine.
func (s *scene) deletePods(names ...string) {
	s.Helper()
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
		s.must(client.IgnoreNotFound(shared.client.Delete(s.Context(), p, client.GracePeriodSeconds(0))))
	}
}

// connect connects through the Service for clients.
func (s *scene) connect(ctx context.Context) (*clientv3.Client, error) {
	service := &corev1.Service{}
	if err := shared.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name + "-client"}, service); err != nil {
		return nil, err
	}
	if service.Spec.ClusterIP == "" {
		return nil, errors.New("the Service has no address")
	}
	name := service.Name + "." + s.namespace + ".svc"
	return traffic.Dial(ctx, s.secure, map[string]string{name: service.Spec.ClusterIP})
}

// members connects to every voting member, by its pod.
func (s *scene) members(ctx context.Context) (*clientv3.Client, error) {
	var pods corev1.PodList
	voters := client.MatchingLabels{"etcd_cluster": s.name, wellknown.LabelEtcdVoter: "true"}
	if err := shared.client.List(ctx, &pods, client.InNamespace(s.namespace), voters); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, p := range pods.Items {
		if p.Status.PodIP != "" && p.DeletionTimestamp == nil {
			addresses[p.Name+"."+s.name+"."+s.namespace+".svc"] = p.Status.PodIP
		}
	}
	return traffic.Dial(ctx, s.secure, addresses)
}

// write starts traffic, which verify ends.
func (s *scene) write() *traffic.Traffic {
	w := traffic.Start(s.Context(), s.connect)
	s.Cleanup(w.Stop)
	s.until("something was written", func(*etcdv1beta2.EtcdCluster) bool { return w.Writes() > 100 })
	return w
}

// verify ends the traffic and checks the recorded history.
func (s *scene) verify(w *traffic.Traffic) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
	defer cancel()
	recorded, err := w.Finish(ctx, s.members)
	s.must(err)
	v := history.Check(recorded, 5*history.Patience)
	s.Log(v)
	if len(v.Problems) > 0 {
		s.Error("the cluster lost something, or was not linearizable")
	}
}

func ofSize(size int) etcdv1beta2.ClusterSpec {
	return etcdv1beta2.ClusterSpec{Size: size, Version: v36}
}

// onClaims returns a cluster whose members have claims.
func onClaims(size int) etcdv1beta2.ClusterSpec {
	spec := ofSize(size)
	spec.Pod = &etcdv1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
	}}
	return spec
}
