package cluster_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

const configured = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npolicies:\n  warn: baseline\n"

func configuration(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName}, Data: map[string]string{config.ConfigMapKey: text}}
}

// configure applies a configuration until the test ends.
func configure(t *testing.T, c *webhooktest.Cluster, text string) *corev1.ConfigMap {
	t.Helper()
	api := c.CoreV1().ConfigMaps(controlplane.Namespace)
	cm, err := api.Create(t.Context(), configuration(text), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), config.ConfigMapName, metav1.DeleteOptions{}) })
	return cm
}

// kept returns the last valid configuration, or "" if none is stored.
func kept(t *testing.T, c *webhooktest.Cluster) string {
	t.Helper()
	cm, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Get(t.Context(), config.LastValidName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return cm.Data[config.ConfigMapKey]
}

func TestConfiguration_ABrokenOneIsDeniedWhenItIsApplied(t *testing.T) {
	c := webhooktest.Started(t)
	tests := map[string]struct {
		cm   *corev1.ConfigMap
		want string // "" if it is admitted
	}{
		"a field that does not exist": {configuration(configured + "  enforc: strict\n"), `line 5, policies.enforc: `},
		"a level that does not exist": {configuration(configured + "  audit: loud\n"), `line 5, policies.audit: `},
		"YAML that cannot be read":    {configuration(configured + "  - a\n"), "yaml: line 4: "},
		"no document":                 {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName}}, "has no key config.yaml"},
		"a valid one":                 {configuration(configured), ""},
		"another ConfigMap":           {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Data: map[string]string{config.ConfigMapKey: "- a"}}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), tc.cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want a denial that says %s", err, tc.want)
			}
		})
	}
	elsewhere := c.NewNamespace(t, nil)
	if _, err := c.CoreV1().ConfigMaps(elsewhere).Create(t.Context(), configuration("- a"), metav1.CreateOptions{}); err != nil {
		t.Errorf("in another namespace: %v", err)
	}
}

func TestConfiguration_TheLastValidOneOutlivesARestart(t *testing.T) {
	c := webhooktest.Started(t)
	cm := configure(t, c, strings.Replace(configured, "warn", "enforce", 1))
	c.Until(t, "the configuration is kept", func() bool { return kept(t, c) == cm.Data[config.ConfigMapKey] })

	// A configuration that is applied while usher is not called.
	cm.Data[config.ConfigMapKey] += "  enforc: strict\n"
	c.Unguarded(t, cm)
	const refused = "[!]configuration refused, the last valid one is in force: line 5, policies.enforc"
	c.Until(t, "it is refused at load", func() bool { return strings.Contains(c.Readyz(t), refused) })
	if got := gauge(t, c, "usher_configuration_valid"); got != 0 {
		t.Errorf("usher_configuration_valid is %v", got)
	}
	restarted, err := usherwebhook.StartUnregistered(t.Context(), c.Plane, webhooktest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restarted.Stop() })
	if _, text := webhooktest.Get(t, "http://"+restarted.Health+"/readyz?verbose"); !strings.Contains(text, refused) {
		t.Errorf("a replica that restarts says %s", text)
	}
	if got := kept(t, c); strings.Contains(got, "enforc:") {
		t.Errorf("%q is kept", got)
	}
}

func TestConfiguration_WithoutItNothingIsKept(t *testing.T) {
	c := webhooktest.Started(t)
	cm := configure(t, c, configured)
	c.Until(t, "the configuration is kept", func() bool { return kept(t, c) == cm.Data[config.ConfigMapKey] })
	if err := c.CoreV1().ConfigMaps(controlplane.Namespace).Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Until(t, "it is forgotten", func() bool { return kept(t, c) == "" })
	c.Until(t, "the defaults are in force", func() bool { return strings.Contains(c.Readyz(t), "[+]configuration ok: the defaults") })
}

// gauge returns the value of a metric without labels.
func gauge(t *testing.T, c *webhooktest.Cluster, name string) float64 {
	t.Helper()
	families, err := c.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("metric %s does not exist", name)
	return 0
}
