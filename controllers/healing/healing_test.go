package healing_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/controllers/healing"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/ushercontroller"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/test/rights"
)

// cluster is a real API server with the controllers of Deployments. There are
// no kubelets: the test sets pods to ready.
type cluster struct {
	*kubernetes.Clientset
	plane *controlplane.ControlPlane
	usher *usherwebhook.Server
	log   *lines
	audit rights.Log
}

var shared *cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	folder, err := os.MkdirTemp("", "usher-healing-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	audit, flags, err := rights.NewLog(folder, controlplane.ControllerUser)
	if err != nil {
		return fail(err)
	}
	plane, err := controlplane.StartWithFlags(os.Stderr, flags, "../../deploy/base/crds")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = plane.Stop() }()
	stop, _, err := plane.StartControllerManager("deployment-controller,replicaset-controller,disruption-controller,serviceaccount-controller")
	if err != nil {
		return fail(err)
	}
	defer stop()
	config := rest.CopyConfig(plane.Config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fail(err)
	}
	shared = &cluster{Clientset: clients, plane: plane, log: &lines{}, audit: audit}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go shared.kubelet(ctx)
	if shared.usher, err = usherwebhook.Start(ctx, plane, logr.Discard()); err != nil {
		return fail(err)
	}
	defer func() { _ = shared.usher.Stop() }()
	log := logr.FromSlogHandler(slog.NewTextHandler(shared.log, nil))
	controller, err := ushercontroller.Start(ctx, plane, log, func(o *controllers.Options) {
		o.Controllers = []string{"healing"}
		o.Healing = healing.Options{Deployment: "usher-webhook", Interval: 100 * time.Millisecond, Rate: time.Millisecond}
	})
	if err != nil {
		return fail(err)
	}
	defer func() { _ = controller.Stop() }()
	return audit.AfterTests(m.Run(), controlplane.ControllerUser, unseen, "healing")
}

// unseen are rights that these tests do not need.
var unseen = []string{
	// Owners of other kinds than Deployments.
	"get cronjobs", "get daemonsets", "get jobs", "get statefulsets", "patch daemonsets", "patch statefulsets",
	// Pods that declare Networks.
	"list networks",
	// On servers before 1.32.
	"list nodes",
	// On servers that do not stream lists to informers.
	"list pods",
}

// lines is a log that the test can read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(l.text.String(), "\n") {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

// kubelet sets every pod to running and ready, because no kubelet runs here.
func (c *cluster) kubelet(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Pending"})
		if err != nil {
			return false, nil
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			_, _ = c.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		}
		return false, nil
	})
}

func (c *cluster) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		c.log.mu.Lock()
		defer c.log.mu.Unlock()
		t.Fatalf("waiting until %s: %v\n%s", what, err, c.log.text.String())
	}
}

func (c *cluster) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), manifest, "apply", "-n", namespace, "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.until(t, "the namespace has its ServiceAccount", func() bool {
		_, err := c.CoreV1().ServiceAccounts(ns.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return ns.Name
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}, annotations: {ASKS}}
    spec: {containers: [{name: app, image: app}]}
`

func manifest(name, replicas, asks string) string {
	return strings.NewReplacer("NAME", name, "REPLICAS", replicas, "ASKS", asks).Replace(deployment)
}

func (c *cluster) available(t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	c.until(t, fmt.Sprintf("%s has %d pods", name, replicas), func() bool {
		d, err := c.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == replicas && d.Status.Replicas == replicas
	})
}

// sidecars counts the pods of a namespace with and without the container side.
func (c *cluster) sidecars(t *testing.T, namespace string) (with, without int) {
	t.Helper()
	pods, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		switch p := &pods.Items[i]; {
		case p.DeletionTimestamp != nil:
		case len(p.Spec.Containers) == 2:
			with++
		default:
			without++
		}
	}
	return with, without
}

// count returns a value of usher_pods.
func count(t *testing.T, state string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	label := func(m *dto.Metric, name string) string {
		for _, l := range m.GetLabel() {
			if l.GetName() == name {
				return l.GetValue()
			}
		}
		return ""
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "usher_pods" && label(m, "template") == "side" && label(m, "state") == state {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

const asks = `inject.usher.dev/side: "true"`

func template(options string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: 'containers: [{name: side, image: s}]', options: '" + options + "'}}"
}

// TestPodsOfAnOutageAreHealed creates pods while usher is down: afterwards,
// without human intervention, all of them get the sidecar.
func TestPodsOfAnOutageAreHealed(t *testing.T) {
	c := shared
	c.apply(t, controlplane.Namespace, template("heal: true"))
	c.apply(t, controlplane.Namespace, manifest("usher-webhook", "1", ""))
	c.available(t, controlplane.Namespace, "usher-webhook", 1)
	ns := c.namespace(t)
	c.scale(t, "0")
	if err := c.usher.Stop(); err != nil {
		t.Fatal(err)
	}
	c.apply(t, ns, manifest("app", "3", asks))
	c.apply(t, ns, manifest("plain", "1", ""))
	c.available(t, ns, "app", 3)
	c.until(t, "the pods are counted", func() bool { return count(t, "missing") == 3 })
	c.until(t, "their owner is told once, and no other", func() bool {
		told, err := c.EventsV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + healing.ReasonMissing})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range told.Items {
			if want := "pods lack the template side, which new pods get: `usher drift deployment/app -n " + ns + " --restart` replaces them"; len(told.Items) != 1 ||
				e.Regarding.Kind != "Deployment" || e.Regarding.Name != "app" || !strings.HasSuffix(e.Note, want) {
				t.Fatalf("%d Events, %q about %v", len(told.Items), e.Note, e.Regarding)
			}
		}
		return len(told.Items) == 1
	})
	plain := c.generation(t, ns, "plain")

	var err error
	if c.usher, err = usherwebhook.StartReplica(context.Background(), c.plane, logr.Discard()); err != nil {
		t.Fatal(err)
	}
	c.scale(t, "1")
	c.until(t, "every pod has its sidecar", func() bool {
		with, without := c.sidecars(t, ns)
		return with == 3 && without == 1
	})
	c.until(t, "they are counted", func() bool { return count(t, "missing") == 0 && count(t, "current") == 3 })
	d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if record := d.Annotations[wellknown.AnnotationHealed]; !strings.HasPrefix(record, "side@20") {
		t.Errorf("the cause is recorded as %q", record)
	}
	if c.generation(t, ns, "plain") != plain {
		t.Error("a workload that did not ask was restarted")
	}

	// A new version of the template does not cause restarts.
	before := c.generation(t, ns, "app")
	c.apply(t, controlplane.Namespace, strings.Replace(template("heal: true"), "image: s", "image: s2", 1))
	c.until(t, "the pods are outdated", func() bool { return count(t, "outdated") == 3 && count(t, "current") == 0 })
	if c.generation(t, ns, "app") != before {
		t.Error("pods that are outdated were replaced")
	}
}

// TestAWorkloadIsRestartedOnceACause makes a restart useless: the webhook is
// unreachable, and its Deployment does not show it.
func TestAWorkloadIsRestartedOnceACause(t *testing.T) {
	c := shared
	c.apply(t, controlplane.Namespace, template("heal: true"))
	c.apply(t, controlplane.Namespace, manifest("usher-webhook", "1", ""))
	c.available(t, controlplane.Namespace, "usher-webhook", 1)
	if err := c.usher.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var err error
		if c.usher, err = usherwebhook.StartReplica(context.Background(), c.plane, logr.Discard()); err != nil {
			t.Error(err)
		}
	})
	ns := c.namespace(t)
	c.apply(t, ns, manifest("app", "1", asks))
	c.until(t, "it is left alone after a restart", func() bool {
		return c.log.has(ns+"/deployment/app", "not restarted: it was already restarted for this")
	})
	if n := c.generation(t, ns, "app"); n != 2 {
		t.Errorf("the Deployment is of generation %d, want 2: one restart", n)
	}
	if with, without := c.sidecars(t, ns); with != 0 || without != 1 {
		t.Errorf("%d pods with a sidecar, %d without: the restart helped", with, without)
	}
}

// TestWithoutTheOptionNothingIsRestarted expects only counts.
func TestWithoutTheOptionNothingIsRestarted(t *testing.T) {
	c := shared
	c.apply(t, controlplane.Namespace, template(""))
	c.apply(t, controlplane.Namespace, manifest("usher-webhook", "1", ""))
	c.available(t, controlplane.Namespace, "usher-webhook", 1)
	ns := c.namespace(t)
	c.apply(t, ns, manifest("app", "1", ""))
	c.available(t, ns, "app", 1)
	pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := count(t, "missing")
	patch := []byte(`{"metadata":{"annotations":{"inject.usher.dev/side":"true"}}}`)
	if _, err := c.CoreV1().Pods(ns).Patch(t.Context(), pods.Items[0].Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(t, "it is counted", func() bool { return count(t, "missing") == before+1 })
	if n := c.generation(t, ns, "app"); n != 1 {
		t.Errorf("the Deployment is of generation %d: it was restarted", n)
	}
}

func (c *cluster) scale(t *testing.T, replicas string) {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), "", "scale", "-n", controlplane.Namespace, "deployment/usher-webhook", "--replicas="+replicas); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.available(t, controlplane.Namespace, "usher-webhook", int32(len(strings.TrimLeft(replicas, "0"))))
}

func (c *cluster) generation(t *testing.T, namespace, name string) int64 {
	t.Helper()
	d, err := c.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Generation
}
