package drift_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/kubeconfig"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/test/controlplane"
)

var shared struct {
	once   sync.Once
	plane  *controlplane.ControlPlane
	client client.Client
	err    error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	status := m.Run()
	if shared.plane != nil {
		_ = shared.plane.Stop()
	}
	os.Exit(status)
}

// An installation is a namespace of usher without a running usher: pods are as they
// were created, and templates as they are now.
type installation struct {
	client.Client
	own string
}

// newInstallation creates the namespace of an installation, with the current
// template.
func newInstallation(t *testing.T, options string) *installation {
	t.Helper()
	shared.once.Do(func() {
		if shared.plane, shared.err = controlplane.Shared(os.Stderr); shared.err == nil {
			shared.client, shared.err = client.New(shared.plane.Config, client.Options{})
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	i := &installation{Client: shared.client}
	i.own = i.namespace(t, nil)
	i.template(t, current, options)
	return i
}

func (i *installation) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	if err := i.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	if err := shared.plane.Account(t.Context(), ns.Name); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// template creates the template side, or replaces it.
func (i *installation) template(t *testing.T, templateConfig, options string) {
	t.Helper()
	i.configMap(t, "side"+template.NameSuffix, map[string]string{template.ConfigKey: templateConfig, template.OptionsKey: options})
}

// configure sets usher's configuration.
func (i *installation) configure(t *testing.T, text string) {
	t.Helper()
	i.configMap(t, config.ConfigMapName, map[string]string{config.ConfigMapKey: "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n" + text})
}

func (i *installation) configMap(t *testing.T, name string, data map[string]string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.own, Name: name}, Data: data}
	if err := client.IgnoreNotFound(i.Delete(t.Context(), cm.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	if err := i.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
}

// apply creates the objects of a manifest.
func (i *installation) apply(t *testing.T, namespace string, manifests ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, text := range manifests {
		for document := range strings.SplitSeq(text, "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatalf("%v\n%s", err, document)
			}
			object.SetNamespace(namespace)
			if err := i.Create(t.Context(), object); err != nil {
				t.Fatalf("%v\n%s", err, document)
			}
			objects = append(objects, object)
		}
	}
	return objects
}

func (i *installation) connect(t *testing.T) *kubeconfig.Cluster {
	t.Helper()
	c, err := kubeconfig.Connect(t.Context(), shared.plane.Config, kubeconfig.Installation{Own: i.own})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// version returns the version of the template side with some content.
func version(t *testing.T, templateConfig string) string {
	t.Helper()
	parsed, err := template.Parse("side", map[string]string{template.ConfigKey: templateConfig})
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Version
}
