package deploy_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestTheChartMonitorsAsTheManifestsDo compares the objects that its values add
// with deploy/monitoring.
func TestTheChartMonitorsAsTheManifestsDo(t *testing.T) {
	got := installed(t, "monitoring: {podMonitors: {enabled: true}, rules: {enabled: true}, dashboards: {enabled: true}}")
	for name := range installed(t, "") {
		delete(got, name)
	}
	if diff := cmp.Diff(objects(t, string(kustomize(t, "monitoring"))), got); diff != "" {
		t.Errorf("-manifests +chart:\n%s", diff)
	}
}

func TestTheChartLeavesAlertsOut(t *testing.T) {
	names := func(values string) string { return rendered(t, "monitoring: {rules: {enabled: true"+values+"}}") }
	if all := names(""); !strings.Contains(all, "alert: UsherNotRedundant\n") || !strings.Contains(all, "alert: UsherControllerDown\n") {
		t.Error("by default some are missing")
	}
	if some := names(", disabled: [UsherNotRedundant]"); strings.Contains(some, "alert: UsherNotRedundant\n") {
		t.Error("one that is disabled is there")
	}
	if one := rendered(t, "replicas: 1\nmonitoring: {rules: {enabled: true}}"); strings.Contains(one, "alert: UsherNotRedundant\n") {
		t.Error("with one replica on purpose UsherNotRedundant is there")
	}
	without := rendered(t, "controller: {enabled: false}\nmonitoring: {rules: {enabled: true}, podMonitors: {enabled: true}}")
	if strings.Contains(without, "UsherController") || strings.Contains(without, "UsherEtcd") || strings.Contains(without, "name: usher-controller") {
		t.Error("without the controller its alerts or its PodMonitor are there")
	}
}

// TestMonitoringIsWrittenFromOneSource checks the copies that make generate
// creates.
func TestMonitoringIsWrittenFromOneSource(t *testing.T) {
	sources, err := filepath.Glob("monitoring/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range append(sources, "monitoring/alerts.yaml", "monitoring/service-levels.yaml") {
		want, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("chart/usher/files", filepath.Base(source))); err != nil || !bytes.Equal(want, got) {
			t.Errorf("the chart's copy of %s is stale, run make generate (%v)", source, err)
		}
	}
	var alerts, levels struct{ Groups []any }
	var resource struct{ Spec struct{ Groups []any } }
	for path, into := range map[string]any{"monitoring/alerts.yaml": &alerts, "monitoring/service-levels.yaml": &levels, "monitoring/prometheusrule.yaml": &resource} {
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(append(alerts.Groups, levels.Groups...), resource.Spec.Groups); diff != "" {
		t.Errorf("monitoring/prometheusrule.yaml is stale, run make generate (-alerts.yaml and service-levels.yaml +it):\n%s", diff)
	}
}

func TestTheAPIServerTakesTheMonitoring(t *testing.T) {
	c := started(t)
	c.monitored(t)
	if out, err := c.plane.Kubectl(t.Context(), string(kustomize(t, "monitoring")), "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// monitored adds the Prometheus operator's kinds to the API server.
func (c *cluster) monitored(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", "testdata/monitoring"},
		{"wait", "--for=condition=Established", "crd/podmonitors.monitoring.coreos.com", "crd/servicemonitors.monitoring.coreos.com", "crd/prometheusrules.monitoring.coreos.com"},
	} {
		if out, err := c.plane.Kubectl(t.Context(), "", args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
