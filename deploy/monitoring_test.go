package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/review"
)

// elsewhere are metrics that usher registers apart from those of its decisions.
var elsewhere = []string{
	"usher_certificate_expiry_seconds",
	"usher_build_info",
	"usher_registration_current",
	// From the libraries of Prometheus and controller-runtime, and from the API
	// server.
	"apiserver_admission_webhook_fail_open_count",
	"apiserver_admission_webhook_rejection_count",
	"go_gc_gomemlimit_bytes",
	"go_memstats_heap_released_bytes",
	"go_memstats_sys_bytes",
	"leader_election_master_status",
	"process_resident_memory_bytes",
	"up",
	// From the controller of EtcdClusters.
	"usher_etcdcluster_available",
	"usher_etcdcluster_claims_set_aside",
	"usher_etcdcluster_members",
	"usher_etcdcluster_quorum_lost",
	"usher_etcdcluster_quorum_margin",
	"usher_etcdcluster_stalled",
	"usher_etcdcluster_steps_total",
	// From the controller of EtcdBackups.
	"usher_etcdbackup_created_timestamp_seconds",
	"usher_etcdbackup_interval_seconds",
	"usher_etcdbackup_last_duration_seconds",
	"usher_etcdbackup_last_size_bytes",
	"usher_etcdbackup_last_success_timestamp_seconds",
	"usher_etcdbackup_succeeded",
	// From the healing controller.
	"usher_pods",
	// From the controller of Networks.
	"usher_network_backend_calls_total",
	"usher_network_orphans",
	"usher_network_ready",
}

// TestAlertsAndDashboardsAskForMetricsThatAre parses them like Prometheus.
func TestAlertsAndDashboardsAskForMetricsThatAre(t *testing.T) {
	known := registered()
	cmd := exec.Command(filepath.Join(programs(t), "alerts"), absolute(t, "monitoring/alerts.yaml"),
		absolute(t, "monitoring/dashboard.json"), absolute(t, "monitoring/dashboard-etcd.json"), absolute(t, "monitoring/dashboard-networks.json"))
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

// registered returns the names of the metrics of decisions.
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

// A rule is the relevant part of an alert in monitoring/alerts.yaml.
type rule struct {
	Alert       string            `json:"alert"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var found []rule
	for _, group := range all.Groups {
		found = append(found, group.Rules...)
	}
	if len(found) == 0 {
		t.Fatal("there are no alerts")
	}
	return found
}

// TestEveryAlertHasARunbook follows its runbook_url into the manual.
func TestEveryAlertHasARunbook(t *testing.T) {
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules(t) {
		if got, want := rule.Annotations["runbook_url"], "https://github.com/usher-dev/usher/blob/main/docs/operations.md#"+strings.ToLower(rule.Alert); got != want {
			t.Errorf("%s: runbook_url is %q, want %q", rule.Alert, got, want)
		}
		_, section, found := strings.Cut(string(manual), "\n### "+rule.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		if !found || len(strings.Fields(section)) < 10 {
			t.Errorf("docs/operations.md has no section %q that says what to do", "### "+rule.Alert)
		}
	}
}

// TestEveryAlertIsFiredByItsCause checks that every alert has a test:
// testdata/alerts.yaml names the cause, and the test that mentions the alert.
func TestEveryAlertIsFiredByItsCause(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var proofs map[string]struct {
		Cause string `json:"cause"`
		Test  string `json:"test"`
	}
	if err := yaml.UnmarshalStrict(text, &proofs); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, rule := range rules(t) {
		names = append(names, rule.Alert)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(proofs))); diff != "" {
		t.Errorf("alerts (-monitoring/alerts.yaml +testdata/alerts.yaml):\n%s", diff)
	}
	for alert, p := range proofs {
		folder, name, _ := strings.Cut(p.Test, " ")
		if p.Cause == "" || !fires(t, folder, name, alert) {
			t.Errorf("%s: the test %q does not name it, or the cause is empty", alert, p.Test)
		}
	}
}

// fires reports whether the source of a test contains the alert's name.
func fires(t *testing.T, folder, test, alert string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(text), "\nfunc "+test+"(")
		if !found {
			continue
		}
		body, _, _ = strings.Cut(body, "\n}\n")
		return strings.Contains(body, `"`+alert+`"`)
	}
	return false
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
