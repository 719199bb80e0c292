package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook"
)

const ownNamespace = controlplane.Namespace

// cluster is a real API server with usher next to it.
type cluster struct {
	*kubernetes.Clientset
	config   *rest.Config
	health   string
	warnings *warnings
	plane    *controlplane.ControlPlane
	metrics  *prometheus.Registry
}

// count makes the started server count its requests.
func (c *cluster) count(o *webhook.Options) {
	c.metrics = prometheus.NewRegistry()
	o.Registry = c.metrics
}

// decisions returns how many decisions of a path were counted so far.
func (c *cluster) decisions(t *testing.T, path string) float64 {
	t.Helper()
	families, err := c.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "usher_decisions_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "path" && l.GetValue() == path }) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

var shared struct {
	once    sync.Once
	cluster *cluster
	server  *controlplane.Usher
	err     error
	stops   []func() error
}

// TestMain stops what the tests started. The first test that needs the control
// plane starts it, because fuzzing runs TestMain in every worker.
func TestMain(m *testing.M) {
	log.SetLogger(logger())
	status := m.Run()
	for _, stop := range slices.Backward(shared.stops) {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}

func started(t *testing.T) *cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func start() (*cluster, error) {
	plane, err := controlplane.Start(os.Stderr, "../deploy/base/crds")
	if err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, plane.Stop)
	ctx := context.Background()
	c := &cluster{plane: plane, config: plane.Config, warnings: &warnings{}}
	config := rest.CopyConfig(plane.Config)
	config.WarningHandler = c.warnings
	config.QPS, config.Burst = 200, 200
	if c.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := c.createOld(ctx); err != nil {
		return nil, err
	}
	if shared.server, err = plane.StartUsher(ctx, logger(), shortOverlap, c.count); err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, func() error { return shared.server.Stop() })
	c.health = shared.server.Health
	return c, nil
}

// shortOverlap lets a test observe a rotation of the CA.
func shortOverlap(o *webhook.Options) {
	o.Certificates.Lifetimes = certs.Lifetimes{CA: 24 * time.Hour, Serving: 8 * time.Hour, Overlap: time.Second}
}

// logger discards output unless requested: a failure shows enough.
func logger() logr.Logger {
	if os.Getenv("USHER_TEST_LOG") == "" {
		return logr.Discard()
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// newNamespace creates a namespace for one test, with the ServiceAccount that
// pods need, since no controller creates it here.
func (c *cluster) newNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := namespace("", labels)
	ns.GenerateName = "test-"
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.plane.Account(t.Context(), ns.Name); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// template creates a template's ConfigMap, which is removed after the test.
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

// warnings collects the warnings to the client.
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
