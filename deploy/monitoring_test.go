package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/review"
)

// elsewhere are metrics that usher registers apart from those of its decisions.
var elsewhere = []string{
	"usher_certificate_expiry_seconds",
	// Of the controller of EtcdBackups.
	"usher_etcdbackup_created_timestamp_seconds",
	"usher_etcdbackup_interval_seconds",
	"usher_etcdbackup_last_success_timestamp_seconds",
	"usher_etcdbackup_succeeded",
	// Of the controller that heals.
	"usher_pods",
	// Of the controller of Networks.
	"usher_network_backend_calls_total",
	"usher_network_orphans",
	"usher_network_ready",
}

// TestAlertsAndDashboardAskForMetricsThatAre reads both as Prometheus does.
func TestAlertsAndDashboardAskForMetricsThatAre(t *testing.T) {
	known := registered()
	cmd := exec.Command(filepath.Join(programs(t), "alerts"), absolute(t, "monitoring/alerts.yaml"), absolute(t, "monitoring/dashboard.json"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	asked := strings.Fields(string(out))
	if len(asked) == 0 {
		t.Error("they ask for no metric")
	}
	for _, name := range asked {
		if name := strings.TrimSuffix(name, "_bucket"); !known[name] && !slices.Contains(elsewhere, name) {
			t.Errorf("usher has no metric %s", name)
		}
	}
}

// registered are the names of the metrics that decisions count in.
func registered() map[string]bool {
	registry := prometheus.NewRegistry()
	review.NewMetrics(registry)
	facts.NewMetrics(registry)
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		registry.Describe(descriptions)
	}()
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	known := map[string]bool{}
	for d := range descriptions {
		if found := name.FindStringSubmatch(d.String()); found != nil {
			known[found[1]] = true
		}
	}
	return known
}

func TestEveryAlertIsInTheOperationsManual(t *testing.T) {
	text, err := os.ReadFile("monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(string(manual), "| `"+rule.Alert+"` |") {
				t.Errorf("docs/operations.md has no row for %s", rule.Alert)
			}
		}
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
