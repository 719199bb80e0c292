package cluster_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	etcdcluster "github.com/usher-dev/usher/controllers/etcd/cluster"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/kubelet"
)

// world is the API server and the processes that the tests of this package
// share; each has a namespace of its own.
type world struct {
	plane   *controlplane.ControlPlane
	kubelet *kubelet.Kubelet
	client  client.Client
}

var shared world

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctrl.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "usher-etcd-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	// The scenes mostly wait for members, each in its namespace.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return 1, err
	}
	// Not the one that packages share: their controllers would take the EtcdRestores.
	shared.plane, err = controlplane.StartWithFlags(os.Stderr, map[string]string{"service-cluster-ip-range": "10.0.0.0/24,fd00:77::/108"}, "../../../deploy/base/crds")
	if err != nil {
		return 1, err
	}
	defer func() { _ = shared.plane.Stop() }()
	ctx, cancel := context.WithCancel(context.Background())
	shared.kubelet, err = kubelet.Start(ctx, shared.plane.Config, "etcd-", folder, os.Stderr)
	if err != nil {
		cancel()
		return 1, err
	}
	shared.kubelet.Contain(digest36, v36)
	shared.kubelet.Contain(digest37, v37)
	defer shared.kubelet.Wait()
	defer cancel()
	shared.client, err = client.New(shared.plane.Config, client.Options{Scheme: testScheme()})
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func testScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := etcdcluster.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}

// A scene is a namespace with a cluster in it.
type scene struct {
	*testing.T
	ctx       context.Context
	namespace string
	name      string
	stop      func()
	secure    *tls.Config
	// user and password are those of the clients.
	user, password string
	// log is what controllers have logged.
	log    logged
	looked atomic.Int64
	reads  atomic.Int64
	// reread is how long clusters may be at rest; the default is three seconds.
	reread time.Duration
	// change changes controllers before they start.
	change func(*etcdcluster.Controller)
}

// newScene creates a namespace, and starts the controller for it. The test runs
// in parallel with others.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	s.start()
	return s
}

func emptyScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	s := &scene{T: t, ctx: t.Context(), name: "example"}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "etcd-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := shared.client.Create(s.ctx, ns); err != nil {
		t.Fatal(err)
	}
	s.namespace = ns.Name
	if err := shared.plane.Account(s.ctx, s.namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
		if s.stop != nil {
			s.stop()
		}
		s.clear()
	})
	return s
}

// start starts a controller for the namespace.
func (s *scene) start() {
	s.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	m, err := manager.New(shared.plane.Config, manager.Options{
		Scheme: testScheme(), Logger: s.log.around(testr.NewWithOptions(s.T, testr.Options{LogTimestamp: true, Verbosity: 1})),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		s.Fatal(err)
	}
	o := etcdcluster.Options{Settling: 6 * time.Second, Busy: 100 * time.Millisecond, Calm: 300 * time.Millisecond, Reread: cmp.Or(s.reread, 3*time.Second), Namespace: s.namespace}
	c := etcdcluster.New(m, etcdcluster.NewObserver(m, o), o)
	c.Looked(func() { s.looked.Add(1) })
	c.Reads(func() { s.reads.Add(1) })
	if s.change != nil {
		s.change(c)
	}
	if err := c.SetupWithManager(m); err != nil {
		s.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
		s.stop = nil
	}
}

// clear deletes everything in the namespace, because the test has no garbage
// collector.
func (s *scene) clear() {
	ctx := context.WithoutCancel(s.ctx)
	in := client.InNamespace(s.namespace)
	_ = shared.client.DeleteAllOf(ctx, &etcdv1beta2.EtcdCluster{}, in)
	_ = shared.client.DeleteAllOf(ctx, &corev1.Pod{}, in)
	_ = shared.client.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, in)
}

// create creates the cluster.
func (s *scene) create(spec etcdv1beta2.ClusterSpec) {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}, Spec: spec}
	if err := shared.client.Create(s.ctx, c); err != nil {
		s.Fatal(err)
	}
}

// edit changes the cluster's spec.
func (s *scene) edit(change func(*etcdv1beta2.ClusterSpec)) {
	s.Helper()
	c := s.cluster()
	patch := client.MergeFrom(c.DeepCopy())
	change(&c.Spec)
	if err := shared.client.Patch(s.ctx, c, patch); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) cluster() *etcdv1beta2.EtcdCluster {
	s.Helper()
	c := &etcdv1beta2.EtcdCluster{}
	if err := shared.client.Get(context.WithoutCancel(s.ctx), client.ObjectKey{Namespace: s.namespace, Name: s.name}, c); err != nil {
		s.Fatal(err)
	}
	return c
}

// until waits until the cluster meets a condition.
func (s *scene) until(what string, holds func(*etcdv1beta2.EtcdCluster) bool) {
	s.Helper()
	start := time.Now()
	err := wait.PollUntilContextTimeout(s.ctx, 50*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		return holds(s.cluster()), nil
	})
	if err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
	s.Logf("%s after %s", what, time.Since(start).Round(100*time.Millisecond))
}

// settled waits until that many members of a version are ready and nothing is
// left to do.
func (s *scene) settled(size int, version string) {
	s.Helper()
	s.until(fmt.Sprintf("%d members run %s", size, version), func(c *etcdv1beta2.EtcdCluster) bool {
		return whole(c, size, version)
	})
}

func whole(c *etcdv1beta2.EtcdCluster, size int, version string) bool {
	st := c.Status
	if st.ObservedGeneration != c.Generation || st.Phase != etcdv1beta2.ClusterPhaseRunning || len(st.MemberStatuses) != size || len(st.Members.Ready) != size || st.Step != "" {
		return false
	}
	for _, m := range st.MemberStatuses {
		if m.Version != version || m.Learner {
			return false
		}
	}
	return true
}

func (s *scene) pods() []corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	if err := shared.client.List(context.WithoutCancel(s.ctx), &pods, client.InNamespace(s.namespace)); err != nil {
		s.Fatal(err)
	}
	return pods.Items
}

// condition returns the status of a condition, or "" if it was never set.
func condition(c *etcdv1beta2.EtcdCluster, t etcdv1beta2.ClusterConditionType) corev1.ConditionStatus {
	if found := c.Status.Condition(t); found != nil {
		return found.Status
	}
	return ""
}

// dump logs the objects of the namespace.
func (s *scene) dump() {
	out, _ := shared.plane.Kubectl(context.WithoutCancel(s.ctx), "", "-n", s.namespace, "get", "etcdclusters,pods,pvc,svc,pdb", "-o", "wide")
	s.Log(out)
	out, _ = shared.plane.Kubectl(context.WithoutCancel(s.ctx), "", "-n", s.namespace, "get", "etcdclusters", "-o", "yaml")
	s.Log(out)
	out, _ = shared.plane.Kubectl(context.WithoutCancel(s.ctx), "", "-n", s.namespace, "get", "events", "--sort-by=.lastTimestamp", "-o", "custom-columns=R:.reason,N:.note,M:.message,C:.deprecatedCount")
	s.Log(out)
	for _, p := range s.pods() {
		s.Log(p.Name, shared.kubelet.Log(p.Namespace, p.Name))
	}
}

const (
	v36 = etcd.DefaultVersion
	v37 = "3.7.3"
)

// ofSize returns a cluster whose images have arbitrary names: their tags select
// the binaries.
func ofSize(size int) etcdv1beta2.ClusterSpec {
	return etcdv1beta2.ClusterSpec{Size: size, Version: v36}
}

// onClaims returns a cluster whose members have claims.
func onClaims(size int) etcdv1beta2.ClusterSpec {
	spec := ofSize(size)
	spec.Pod = &etcdv1beta2.PodPolicy{PersistentVolumeClaimSpec: claimTemplate("1Gi")}
	return spec
}

// names returns the names of the members.
func (s *scene) names() []string {
	s.Helper()
	var names []string
	for _, m := range s.cluster().Status.MemberStatuses {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

func equal(a, b []string) bool { return slices.Equal(a, b) }

func contains(all []string, one string) bool { return slices.Contains(all, one) }

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) deletePod(name string) {
	s.Helper()
	s.must(shared.client.Delete(s.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}))
}

// looks waits until the controller has observed the cluster that many more
// times.
func (s *scene) looks(times int64) {
	s.Helper()
	until := s.looked.Load() + times
	s.until(fmt.Sprintf("it was looked at %d times", times), func(*etcdv1beta2.EtcdCluster) bool { return s.looked.Load() >= until })
}

// eventually waits for something that is not the cluster's.
func (s *scene) eventually(what string, holds func() bool) {
	s.Helper()
	if err := wait.PollUntilContextTimeout(s.ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
}
