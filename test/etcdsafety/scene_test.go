package etcdsafety_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/history"
	"github.com/usher-dev/usher/test/traffic"
)

// A scene is a namespace with a cluster whose members have claims.
type scene struct {
	*testing.T
	*world
	namespace string
	traffic   *traffic.Traffic
	looked    time.Time
	// password is that of etcd's user root, once its authentication is enabled.
	password atomic.Pointer[string]
	// secure is the clients' TLS configuration; nil without encryption.
	secure *tls.Config
}

// newScene creates a cluster of that size, waits until it runs, and starts
// traffic.
func newScene(t *testing.T, w *world, size int) *scene {
	t.Helper()
	s := emptyScene(t, w)
	s.must(w.client.Create(t.Context(), s.clusterOf(size)))
	s.settled(size)
	s.traffic = s.startTraffic()
	return s
}

// startTraffic starts clients, and waits until they write.
func (s *scene) startTraffic() *traffic.Traffic {
	s.Helper()
	started := traffic.Start(s.Context(), s.connect)
	s.Cleanup(started.Stop)
	s.until("clients write", func(*etcdv1beta2.EtcdCluster) bool { return started.Writes() > 20 })
	return started
}

func emptyScene(t *testing.T, w *world) *scene {
	t.Helper()
	s := &scene{T: t, world: w}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "etcd-"}}
	s.must(w.client.Create(t.Context(), ns))
	s.namespace = ns.Name
	s.must(w.Account(t.Context(), ns.Name))
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
		ctx := context.Background()
		for _, o := range []client.Object{&etcdv1beta2.EtcdCluster{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
			_ = w.client.DeleteAllOf(ctx, o, client.InNamespace(s.namespace))
		}
	})
	return s
}

const name = "example"

func (s *scene) clusterOf(size int) *etcdv1beta2.EtcdCluster {
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	c.Spec = etcdv1beta2.ClusterSpec{Size: size, Version: etcd.DefaultVersion, Pod: &etcdv1beta2.PodPolicy{
		PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
	return c
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) cluster() *etcdv1beta2.EtcdCluster {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	s.must(s.client.Get(context.WithoutCancel(s.Context()), client.ObjectKey{Namespace: s.namespace, Name: name}, c))
	return c
}

func (s *scene) edit(change func(*etcdv1beta2.ClusterSpec)) {
	s.Helper()
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	change(&c.Spec)
	s.must(s.client.Patch(s.Context(), c, patch))
}

// look makes the controller observe the cluster every ten seconds, and gives it
// time to write the result.
func (s *scene) look() {
	s.Helper()
	if time.Since(s.looked) < 10*time.Second {
		return
	}
	s.looked = time.Now()
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.com/looked", s.looked.String())
	s.must(s.client.Patch(s.Context(), c, patch))
}

// until waits until the cluster meets a condition.
func (s *scene) until(what string, holds func(*etcdv1beta2.EtcdCluster) bool) {
	s.Helper()
	start := time.Now()
	err := wait.PollUntilContextTimeout(s.Context(), 200*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		s.look()
		return holds(s.cluster()), nil
	})
	if err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
	s.Logf("%s after %s", what, time.Since(start).Round(100*time.Millisecond))
}

// settlingTime is how long to wait for something that must not happen: several
// times the controller's member timeout.
const settlingTime = 20 * time.Second

// throughout checks for all of settlingTime that nothing is wrong, while the
// controller observes repeatedly.
func (s *scene) throughout(wrong func() string) {
	s.Helper()
	s.during(settlingTime, wrong)
}

// during is throughout with another duration.
func (s *scene) during(d time.Duration, wrong func() string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), d)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		s.look()
		if problem := wrong(); problem != "" {
			s.Fatal(problem)
		}
		return false, nil
	})
}

// settled waits until that many members are ready and nothing is left to do.
func (s *scene) settled(size int) {
	s.Helper()
	s.until(fmt.Sprintf("%d members run", size), func(c *etcdv1beta2.EtcdCluster) bool {
		st := c.Status
		return st.ObservedGeneration == c.Generation && st.Phase == etcdv1beta2.ClusterPhaseRunning && st.Step == "" &&
			len(st.MemberStatuses) == size && len(st.Members.Ready) == size &&
			!slices.ContainsFunc(st.MemberStatuses, func(m etcdv1beta2.MemberStatus) bool { return m.Learner || m.Version != etcd.DefaultVersion })
	})
}

// says returns the status of a condition.
func says(c *etcdv1beta2.EtcdCluster, condition etcdv1beta2.ClusterConditionType) corev1.ConditionStatus {
	if found := c.Status.Condition(condition); found != nil {
		return found.Status
	}
	return ""
}

// members returns those in etcd's list, by name.
func (s *scene) members() []string {
	s.Helper()
	var names []string
	for _, m := range s.cluster().Status.MemberStatuses {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// A belonging is a cluster's pods and claims by name.
type belonging map[string]types.UID

// claims returns the cluster's claims except those being deleted.
func (s *scene) claims() belonging {
	s.Helper()
	var list corev1.PersistentVolumeClaimList
	s.must(s.client.List(context.WithoutCancel(s.Context()), &list, client.InNamespace(s.namespace)))
	all := belonging{}
	for _, c := range list.Items {
		if c.DeletionTimestamp == nil {
			all[c.Name] = c.UID
		}
	}
	return all
}

// setAside returns the claims that the controller has announced to delete.
func (s *scene) setAside() []string {
	s.Helper()
	var list corev1.PersistentVolumeClaimList
	s.must(s.client.List(context.WithoutCancel(s.Context()), &list, client.InNamespace(s.namespace)))
	var names []string
	for _, c := range list.Items {
		if _, aside := c.Annotations["etcd.usher.dev/set-aside"]; aside {
			names = append(names, c.Name)
		}
	}
	return names
}

func (s *scene) pods() []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	s.must(s.client.List(context.WithoutCancel(s.Context()), &list, client.InNamespace(s.namespace)))
	return list.Items
}

// sameData describes what happened to existing claims.
func (s *scene) sameData(before belonging) string {
	s.Helper()
	if now := s.claims(); !maps.Equal(before, now) {
		return fmt.Sprintf("the claims were %v and are %v", before, now)
	}
	if aside := s.setAside(); len(aside) > 0 {
		return fmt.Sprintf("the claims %q are set aside", aside)
	}
	return ""
}

// connect connects to the members that serve clients. A removed member ends
// before its pod does.
func (s *scene) connect(ctx context.Context) (*clientv3.Client, error) { return s.connectTo(ctx, name) }

// connectTo connects to a cluster through its voters.
func (s *scene) connectTo(ctx context.Context, name string) (*clientv3.Client, error) {
	var pods corev1.PodList
	voters := client.MatchingLabels{"etcd.usher.dev/voter": "true", "etcd_cluster": name}
	if err := s.client.List(ctx, &pods, client.InNamespace(s.namespace), voters); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, p := range pods.Items {
		address, err := s.kubelet.Address(p.Namespace, p.Name)
		if err == nil && p.Status.PodIP != "" && p.DeletionTimestamp == nil && waits(p) == "" {
			addresses[p.Name+"."+name+"."+s.namespace+".svc"] = address
		}
	}
	if password := s.password.Load(); password != nil {
		return traffic.DialAs(ctx, "root", *password, s.secure, addresses)
	}
	return traffic.Dial(ctx, s.secure, addresses)
}

// verify ends the traffic and checks the recorded history.
func (s *scene) verify() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	recorded, err := s.traffic.Finish(ctx, s.connect)
	s.must(err)
	v := history.Check(recorded, history.Patience)
	s.Log(v)
	if len(v.Problems) > 0 {
		s.Error("the cluster lost something, or was not linearizable")
	}
}

// dump logs the objects of the namespace.
func (s *scene) dump() {
	ctx := context.Background()
	out, _ := s.Kubectl(ctx, "", "-n", s.namespace, "get", "etcdclusters,pods,pvc", "-o", "wide")
	s.Log(out)
	out, _ = s.Kubectl(ctx, "", "-n", s.namespace, "get", "etcdclusters", "-o", "yaml")
	s.Log(out)
	said, _ := os.ReadFile(filepath.Join(s.folder, "controller.log"))
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, s.namespace) {
			s.Log(strings.TrimSpace(line))
		}
	}
}

// waits returns why a pod's container does not run.
func waits(p corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			return c.State.Waiting.Reason
		}
	}
	return ""
}
