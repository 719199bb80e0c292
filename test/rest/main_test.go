// Package rest_test counts the requests of usher's controllers while nothing
// happens, and while usher refuses pods, as a real API server saw them.
package rest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/kubelet"
	"github.com/usher-dev/usher/test/rights"
)

// A world is an API server that records what the controllers ask for, and a
// kubelet that runs members of etcd as processes.
type world struct {
	*testing.T
	*controlplane.ControlPlane
	client.Client
	audit rights.Log
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	w := &world{T: t}
	folder := t.TempDir()
	log, flags, err := rights.NewLog(folder, controlplane.ControllerUser)
	w.must(err)
	w.audit = log
	w.ControlPlane, err = controlplane.StartWithFlags(os.Stderr, flags, "../../deploy/base/crds", "../../controllers/network/multus/testdata")
	w.must(err)
	t.Cleanup(func() { _ = w.Stop() })
	ctx, cancel := context.WithCancel(context.Background())
	members, err := kubelet.Start(ctx, w.Config, "etcd-", folder, os.Stderr)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); members.Wait() })
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, etcdv1beta2.AddToScheme, samplecrdv1.AddToScheme} {
		w.must(add(scheme))
	}
	config := rest.CopyConfig(w.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	w.Client, err = client.New(config, client.Options{Scheme: scheme})
	w.must(err)
	w.must(w.OwnNamespace(t.Context()))
	w.must(w.GrantController(t.Context()))
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until waits until a condition holds.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), 500*time.Millisecond, 15*time.Minute, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		w.Fatalf("waiting until %s: %v", what, err)
	}
}

// each calls a function with every number below n, several at once.
func (w *world) each(n int, do func(ctx context.Context, i int) error) {
	w.Helper()
	errs := make([]error, n)
	workqueue.ParallelizeUntil(w.Context(), 16, n, func(i int) { errs[i] = do(w.Context(), i) })
	for _, err := range errs {
		w.must(err)
	}
}

func namespaceOf(i int) string { return fmt.Sprintf("team-%05d", i) }

// fill creates namespaces that ask for a RoleBinding, and in the first of them
// Networks, the first of which belong to Deployments that ask for one.
func (w *world) fill(namespaces, networks, own int) {
	w.Helper()
	w.must(w.Create(w.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.Namespace, Name: config.ConfigMapName},
		Data: map[string]string{config.ConfigMapKey: fmt.Sprintf("{apiVersion: %s, kind: %s, networks: {pool: {cidr: 10.128.0.0/12, prefixLength: 24}}}",
			config.APIVersion, config.Kind)},
	}))
	w.each(namespaces, func(ctx context.Context, i int) error {
		labels := map[string]string{wellknown.LabelDefaultServiceAccount: wellknown.View}
		return w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i), Labels: labels}})
	})
	w.each(networks, func(ctx context.Context, i int) error {
		if i < own {
			return w.Create(ctx, deploymentIn(namespaceOf(i)))
		}
		prefix := fmt.Sprintf("10.%d.%d.", 32+i/256, i%256)
		return w.Create(ctx, &samplecrdv1.Network{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: "net"}, Spec: samplecrdv1.NetworkSpec{CIDR: prefix + "0/24", Gateway: prefix + "1"},
		})
	})
}

// deploymentIn returns a Deployment that asks for its own Network.
func deploymentIn(namespace string) *appsv1.Deployment {
	app := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Annotations: map[string]string{wellknown.OwnNetwork: "true"}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: app}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
		}},
	}
}

// clusters creates the clusters from the number from to the number to.
func (w *world) clusters(from, to, members int) {
	w.Helper()
	w.each(to-from, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("etcd-%d", from+i)
		if err := w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		if err := w.Account(ctx, name); err != nil {
			return err
		}
		c := &etcdv1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "example"}}
		c.Spec = etcdv1beta2.ClusterSpec{Size: members, Version: etcd.DefaultVersion, Pod: &etcdv1beta2.PodPolicy{
			PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}}
		return w.Create(ctx, c)
	})
}

// settled waits until that many clusters, Networks and RoleBindings are as they
// should be, and the controllers have written nothing for a while.
func (w *world) settled(clusters, networks, bindings int, quiet time.Duration) {
	w.Helper()
	w.until("the Networks are ready", func() bool {
		var all samplecrdv1.NetworkList
		w.must(w.List(w.Context(), &all))
		ready := slices.DeleteFunc(all.Items, func(n samplecrdv1.Network) bool {
			return !meta.IsStatusConditionTrue(n.Status.Conditions, samplecrdv1.Ready)
		})
		return len(ready) == networks
	})
	w.until("the RoleBindings exist", func() bool {
		var all rbacv1.RoleBindingList
		w.must(w.List(w.Context(), &all, client.MatchingLabels{wellknown.LabelComponent: "default-serviceaccount"}))
		return len(all.Items) == bindings
	})
	w.until("the clusters run", func() bool {
		var all etcdv1beta2.EtcdClusterList
		w.must(w.List(w.Context(), &all))
		whole := slices.DeleteFunc(all.Items, func(c etcdv1beta2.EtcdCluster) bool {
			return c.Status.Phase != etcdv1beta2.ClusterPhaseRunning || len(c.Status.Members.Ready) != c.Spec.Size || c.Status.Step != ""
		})
		return len(whole) == clusters
	})
	began := time.Now()
	w.until("nothing is written any more", func() bool {
		since := time.Now().Add(-quiet)
		return began.Before(since) && len(w.requests(since).writes()) == 0
	})
}

// requests counts requests by verb and resource.
type requests map[string]int

// Kinds of requests that are no object's: the API server ends each watch after
// some minutes, and the leader renews its Lease.
const (
	watches = "watch"
	lease   = "renew the Lease"
)

// requests counts those of the controllers since a time.
func (w *world) requests(since time.Time) requests {
	w.Helper()
	all, err := w.audit.Requests(controlplane.ControllerUser)
	w.must(err)
	counts := requests{}
	for _, e := range all {
		if e.RequestReceivedTimestamp.Before(since) {
			continue
		}
		resource := strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")
		switch {
		case e.Verb == "watch":
			counts[watches]++
		case resource == "leases" && e.ObjectRef.Name == "usher-controller":
			counts[lease]++
		case resource == "":
			counts[e.Verb+" "+e.RequestURI]++
		default:
			counts[e.Verb+" "+resource]++
		}
	}
	return counts
}

// writes returns those that change something.
func (r requests) writes() requests {
	found := maps.Clone(r)
	maps.DeleteFunc(found, func(what string, _ int) bool {
		verb, _, _ := strings.Cut(what, " ")
		return what == lease || slices.Contains([]string{"get", "list", "watch"}, verb)
	})
	return found
}

// String lists them.
func (r requests) String() string {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(r)) {
		lines = append(lines, fmt.Sprintf("%6d %s", r[what], what))
	}
	return strings.Join(lines, "\n")
}
