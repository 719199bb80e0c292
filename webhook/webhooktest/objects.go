package webhooktest

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
)

// Small is a template's configuration, for the template side that Asks asks for.
const (
	Small = "containers: [{name: side, image: 'side:1'}]"
	Asks  = `"inject.usher.dev/side": "true"`
)

// Namespace returns a Namespace, which NewNamespace would create under a name of
// its own.
func Namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// NewNamespace creates a namespace for one test, with the ServiceAccount that
// pods need, since no controller creates it here.
func (c *Cluster) NewNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := Namespace("", labels)
	ns.GenerateName = "test-"
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Plane.Account(t.Context(), ns.Name); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// Enforced creates a namespace that enforces a level and warns of everything.
func (c *Cluster) Enforced(t *testing.T, level string) string {
	t.Helper()
	return c.NewNamespace(t, map[string]string{wellknown.LabelEnforce: level, wellknown.LabelWarn: "strict"})
}

// Template creates a template's ConfigMap, which is removed after the test.
func (c *Cluster) Template(t *testing.T, name, config, options string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-initializer"}, Data: map[string]string{"config": config}}
	if options != "" {
		cm.Data["options"] = options
	}
	cm, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(context.Background(), cm.Name, metav1.DeleteOptions{})
		c.Until(t, "the template is gone", func() bool { return !strings.Contains(c.Readyz(t), "template "+name+" ") })
	})
	return cm
}

// FromYAML parses an object strictly.
func FromYAML[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// Pod returns a pod with a spec, or with one container.
func Pod(t *testing.T, annotations, spec string) *corev1.Pod {
	t.Helper()
	if spec == "" {
		spec = "containers: [{name: app, image: app}]"
	}
	return FromYAML[corev1.Pod](t, "{metadata: {generateName: p-, annotations: {"+annotations+"}}, spec: {"+spec+"}}")
}

// Deployment returns a Deployment with annotations of its own.
func Deployment(t *testing.T, annotations string) *appsv1.Deployment {
	t.Helper()
	return FromYAML[appsv1.Deployment](t, "{metadata: {generateName: d-, annotations: {"+annotations+"}}, spec: {selector: {matchLabels: {a: b}}, "+
		"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: app, image: app}]}}}}")
}

// Shop returns a Deployment of pods with the label app=shop. Replicas is a line of
// its spec.
func Shop(t *testing.T, name, replicas string) *appsv1.Deployment {
	t.Helper()
	return FromYAML[appsv1.Deployment](t, `
metadata: {name: `+name+`}
spec:
  selector: {matchLabels: {app: shop}}
  `+replicas+`
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: app, image: app, readinessProbe: {tcpSocket: {port: 80}}}]}
`)
}

// CronJob returns a CronJob with the given part of a spec.
func CronJob(t *testing.T, spec string) *batchv1.CronJob {
	t.Helper()
	return FromYAML[batchv1.CronJob](t, "{metadata: {generateName: c-}, spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}, "+spec+"}}")
}

// Containers returns the names of a pod's containers in their order.
func Containers(p *corev1.Pod) string {
	var names []string
	for _, c := range p.Spec.InitContainers {
		names = append(names, "init:"+c.Name)
	}
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}
