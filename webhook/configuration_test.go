package webhook_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/config"
)

const configured = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npolicies:\n  warn: baseline\n"

func configuration(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.ConfigMapName}, Data: map[string]string{config.ConfigMapKey: text}}
}

// configure applies a configuration until the test ends.
func (c *cluster) configure(t *testing.T, text string) *corev1.ConfigMap {
	t.Helper()
	api := c.CoreV1().ConfigMaps(ownNamespace)
	cm, err := api.Create(t.Context(), configuration(text), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), config.ConfigMapName, metav1.DeleteOptions{}) })
	return cm
}

// kept returns the last valid configuration, or "" if none is stored.
func (c *cluster) kept(t *testing.T) string {
	t.Helper()
	cm, err := c.CoreV1().ConfigMaps(ownNamespace).Get(t.Context(), config.LastValidName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return cm.Data[config.ConfigMapKey]
}

func TestConfiguration_ABrokenOneIsDeniedWhenItIsApplied(t *testing.T) {
	c := started(t)
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
			_, err := c.CoreV1().ConfigMaps(ownNamespace).Create(t.Context(), tc.cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want a denial that says %s", err, tc.want)
			}
		})
	}
	elsewhere := c.newNamespace(t, nil)
	if _, err := c.CoreV1().ConfigMaps(elsewhere).Create(t.Context(), configuration("- a"), metav1.CreateOptions{}); err != nil {
		t.Errorf("in another namespace: %v", err)
	}
}

func TestConfiguration_TheLastValidOneOutlivesARestart(t *testing.T) {
	c := started(t)
	cm := c.configure(t, strings.Replace(configured, "warn", "enforce", 1))
	c.until(t, "the configuration is kept", func() bool { return c.kept(t) == cm.Data[config.ConfigMapKey] })

	// A configuration that is applied while usher is not called.
	cm.Data[config.ConfigMapKey] += "  enforc: strict\n"
	c.unguarded(t, cm)
	const refused = "[!]configuration refused, the last valid one is in force: line 5, policies.enforc"
	c.until(t, "it is refused at load", func() bool { return strings.Contains(c.readyz(t), refused) })
	if got := c.gauge(t, "usher_configuration_valid"); got != 0 {
		t.Errorf("usher_configuration_valid is %v", got)
	}
	restarted, err := c.plane.StartUnregistered(t.Context(), logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restarted.Stop() })
	if _, text := c.get(t, "http://"+restarted.Health+"/readyz?verbose"); !strings.Contains(text, refused) {
		t.Errorf("a replica that restarts says %s", text)
	}
	if got := c.kept(t); strings.Contains(got, "enforc:") {
		t.Errorf("%q is kept", got)
	}
}

func TestConfiguration_WithoutItNothingIsKept(t *testing.T) {
	c := started(t)
	cm := c.configure(t, configured)
	c.until(t, "the configuration is kept", func() bool { return c.kept(t) == cm.Data[config.ConfigMapKey] })
	if err := c.CoreV1().ConfigMaps(ownNamespace).Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(t, "it is forgotten", func() bool { return c.kept(t) == "" })
	c.until(t, "the defaults are in force", func() bool { return strings.Contains(c.readyz(t), "[+]configuration ok: the defaults") })
}

// gauge returns the value of a metric without labels.
func (c *cluster) gauge(t *testing.T, name string) float64 {
	t.Helper()
	families, err := c.metrics.Gather()
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
