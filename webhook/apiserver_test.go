package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook"
)

const ownNamespace = "usher-system"

// cluster is a real API server with usher beside it.
type cluster struct {
	*kubernetes.Clientset
	config   *rest.Config
	health   string
	warnings *warnings

	kubeconfig []byte
	assets     string
}

var shared *cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	plane, err := controlplane.Start(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	shared = &cluster{config: plane.Config, warnings: &warnings{}}
	config := rest.CopyConfig(plane.Config)
	config.WarningHandler = shared.warnings
	config.QPS, config.Burst = 200, 200
	shared.Clientset = kubernetes.NewForConfigOrDie(config)
	if _, err := shared.CoreV1().Namespaces().Create(ctx, namespace(ownNamespace, nil), metav1.CreateOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := apply(ctx, plane, "../deploy/base/proof.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := shared.createOld(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared.kubeconfig, shared.assets = plane.Kubeconfig, plane.Assets
	done := make(chan error, 1)
	address := free()
	shared.health = free()
	go func() {
		done <- webhook.Run(ctx, plane.Config, webhook.Options{
			Namespace: ownNamespace, Service: "usher", URL: "https://" + address, BindAddress: address,
			HealthAddress: shared.health, MetricsAddress: "0", Log: logger(),
		})
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := shared.registered(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// apply applies a manifest as an administrator would.
func apply(ctx context.Context, plane *controlplane.ControlPlane, file string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(plane.Assets, "kubectl"), "--kubeconfig", "/dev/stdin", "apply", "-f", file)
	cmd.Stdin = bytes.NewReader(plane.Kubeconfig)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// logger is silent unless asked: a failure tells enough.
func logger() logr.Logger {
	if os.Getenv("USHER_TEST_LOG") == "" {
		return logr.Discard()
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
}

func (c *cluster) registered(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, webhook.ConfigurationName, metav1.GetOptions{})
		return err == nil, nil
	})
}

func free() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// newNamespace makes a namespace for one test, with the ServiceAccount that
// pods need and that no controller makes here.
func (c *cluster) newNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := namespace("", labels)
	ns.GenerateName = "test-"
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := c.CoreV1().ServiceAccounts(ns.Name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// template makes a template's ConfigMap, removed after the test.
func (c *cluster) template(t *testing.T, name, config, options string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-initializer"}, Data: map[string]string{"config": config}}
	if options != "" {
		cm.Data["options"] = options
	}
	cm, err := c.CoreV1().ConfigMaps(ownNamespace).Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(ownNamespace).Delete(context.Background(), cm.Name, metav1.DeleteOptions{})
		c.until(t, "the template is gone", func() bool { return !strings.Contains(c.readyz(t), "template "+name+" ") })
	})
	return cm
}

func (c *cluster) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func (c *cluster) readyz(t *testing.T) string {
	t.Helper()
	status, body := c.get(t, "http://"+c.health+"/readyz?verbose")
	if status != http.StatusOK {
		t.Errorf("/readyz is %d: %s", status, body)
	}
	return body
}

func fromYAML[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func pod(t *testing.T, annotations, spec string) *corev1.Pod {
	t.Helper()
	if spec == "" {
		spec = "containers: [{name: app, image: app}]"
	}
	return fromYAML[corev1.Pod](t, "{metadata: {generateName: p-, annotations: {"+annotations+"}}, spec: {"+spec+"}}")
}

func deployment(t *testing.T, annotations string) *appsv1.Deployment {
	t.Helper()
	return fromYAML[appsv1.Deployment](t, "{metadata: {generateName: d-, annotations: {"+annotations+"}}, spec: {selector: {matchLabels: {a: b}}, "+
		"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: app, image: app}]}}}}")
}

func containers(p *corev1.Pod) string {
	var names []string
	for _, c := range p.Spec.InitContainers {
		names = append(names, "init:"+c.Name)
	}
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// warnings collects the warnings the client gets.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}
