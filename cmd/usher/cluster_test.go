package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/cli/render"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// testCluster is a real API server with its controllers and usher next to it,
// started when the first test needs it.
type testCluster struct {
	*kubernetes.Clientset
	plane      *controlplane.ControlPlane
	server     *usherwebhook.Server
	kubeconfig string
	stops      []func()
}

var shared struct {
	once    sync.Once
	cluster *testCluster
	err     error
}

func TestMain(m *testing.M) {
	if os.Getenv(asUsher) != "" || len(os.Args) == 2 && os.Args[1] == render.WorkerCommand {
		main()
	}
	ctrl.SetLogger(logr.Discard())
	status := m.Run()
	if c := shared.cluster; c != nil {
		for i := len(c.stops) - 1; i >= 0; i-- {
			c.stops[i]()
		}
	}
	os.Exit(status)
}

func startedCluster(t *testing.T) *testCluster {
	t.Helper()
	shared.once.Do(func() {
		c := &testCluster{}
		shared.cluster, shared.err = c, c.start()
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func (c *testCluster) start() error {
	var err error
	if c.plane, err = controlplane.Start(os.Stderr); err != nil {
		return err
	}
	c.stops = append(c.stops, func() { _ = c.plane.Stop() })
	if c.Clientset, err = kubernetes.NewForConfig(c.plane.Config); err != nil {
		return err
	}
	path, remove, err := c.plane.KubeconfigFile()
	if err != nil {
		return err
	}
	c.kubeconfig = path
	c.stops = append(c.stops, remove)
	stop, _, err := c.plane.StartControllerManager("deployment-controller,replicaset-controller,disruption-controller,serviceaccount-controller,clusterrole-aggregation-controller")
	if err != nil {
		return err
	}
	c.stops = append(c.stops, stop)
	if c.server, err = usherwebhook.Start(context.Background(), c.plane, logr.Discard()); err != nil {
		return err
	}
	c.stops = append(c.stops, func() { _ = c.server.Stop() })
	return nil
}

// usher runs the command line against the cluster.
func (c *testCluster) usher(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return usher(t, "", append(args, "--kubeconfig", c.kubeconfig)...)
}

func (c *testCluster) namespace(t *testing.T) string {
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

func (c *testCluster) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), manifest, "apply", "-n", namespace, "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// kubelet sets every pod of a namespace to running and ready, because no
// kubelet runs here.
func (c *testCluster) kubelet(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			pods, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, nil
			}
			for i := range pods.Items {
				p := &pods.Items[i]
				if p.Status.Phase == corev1.PodRunning {
					continue
				}
				p.Status.Phase = corev1.PodRunning
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				_, _ = c.CoreV1().Pods(namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
			}
			return false, nil
		})
	}()
}

func (c *testCluster) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func templateManifest(image string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: 'containers: [{name: side, image: %q}]'}}", image)
}

func deploymentManifest(name string) string {
	return strings.ReplaceAll(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}, annotations: {inject.usher.dev/side: "true"}}
    spec: {containers: [{name: app, image: 'app:1'}]}
`, "NAME", name)
}
