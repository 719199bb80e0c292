package prometheus_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/prometheus"
)

// A dashboard is what Grafana asks Prometheus.
type dashboard struct {
	Templating struct {
		List []struct{ Name string }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../../deploy/monitoring/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// queries are the expressions of a dashboard by their panels, with the values of
// the variables.
func (d dashboard) queries(cluster, namespace string) (names, expressions []string) {
	values := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$cluster", cluster, "$namespace", namespace, "$name", ".*")
	for _, panel := range d.Panels {
		for i, target := range panel.Targets {
			names = append(names, fmt.Sprintf("%s, %d", panel.Title, i+1))
			expressions = append(expressions, values.Replace(target.Expr))
		}
	}
	return names, expressions
}

// everything is broken, so that each query has an answer.
var everything = cause{breaks: func(s *state, m int) {
	for _, counter := range []string{faults, `usher_throttled_total{path="/mutate"}`, `usher_malformed_requests_total{path="/mutate"}`} {
		grow(counter, 7)(s, m)
	}
	set(series{`usher_template_valid{template="side"}`: 0, "usher_panics_total": float64(m)})(s, m)
	if s.controller != nil {
		controls(series{
			object("usher_network_ready", "shop"): 0, object("usher_etcdcluster_available", "shop"): 0, object("usher_etcdcluster_quorum_lost", "shop"): 1,
			object("usher_etcdcluster_stalled", "shop"): 1, object("usher_etcdbackup_succeeded", "shop"): 0, "usher_network_orphans": 2,
			`usher_network_backend_calls_total{backend="multus",call="ensure",result="Denied"}`: float64(m),
		})(s, m)
	}
}}

// answers lets a cause, if any, break the first installation of a setting, and
// returns the answers to the queries of every dashboard.
func (s setting) answers(t *testing.T, c *cause, cluster, namespace string) map[string][]prometheus.Sample {
	t.Helper()
	p := prometheus.New(t)
	s.play(p, c, 0, 10, 10*minute)
	var panels, expressions []string
	for file, d := range dashboards(t) {
		titles, queries := d.queries(cluster, namespace)
		for _, title := range titles {
			panels = append(panels, file+": "+title)
		}
		expressions = append(expressions, queries...)
	}
	all := map[string][]prometheus.Sample{}
	for i, samples := range p.Query(expressions...) {
		slices.SortFunc(samples, func(a, b prometheus.Sample) int { return strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)) })
		all[panels[i]] = samples
	}
	return all
}

// TestDashboardsShowWhatIsSelected compares the answers about one installation
// among two with those about one that is alone.
func TestDashboardsShowWhatIsSelected(t *testing.T) {
	tests := []struct {
		name               string
		all                []installation
		cluster, namespace string
		files              []string
	}{
		{"a cluster of two", []installation{production.in("a"), production.in("b")}, "b", ".*", []string{"dashboard.json", "dashboard-etcd.json", "dashboard-networks.json"}},
		{"an installation of two in a cluster", []installation{production, canary}, ".*", "usher-canary", []string{"dashboard.json"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			alone := setting{installations: test.all[1:]}
			got, want := setting{installations: test.all}.answers(t, &everything, test.cluster, test.namespace), alone.answers(t, nil, ".*", ".*")
			for panel, samples := range want {
				if file, _, _ := strings.Cut(panel, ":"); !slices.Contains(test.files, file) {
					continue
				}
				if diff := cmp.Diff(samples, got[panel]); diff != "" {
					t.Errorf("%s (-alone +selected):\n%s", panel, diff)
				}
			}
		})
	}
}

// TestEveryPanelHasAnAnswer runs the query of each panel about an installation in
// which everything is broken.
func TestEveryPanelHasAnAnswer(t *testing.T) {
	for panel, samples := range (setting{installations: []installation{production.in("a")}}).answers(t, &everything, ".*", ".*") {
		if len(samples) == 0 {
			t.Errorf("%s has no answer", panel)
		}
	}
}

// TestDashboardsHaveVariables holds the variables by which users choose.
func TestDashboardsHaveVariables(t *testing.T) {
	for file, d := range dashboards(t) {
		var names []string
		for _, v := range d.Templating.List {
			names = append(names, v.Name)
		}
		if len(names) < 3 || !slices.Equal(names[:3], []string{"datasource", "cluster", "namespace"}) {
			t.Errorf("%s has the variables %v", file, names)
		}
	}
}

// TestRulesAndDashboardsUseKnownMetrics parses them as Prometheus does.
func TestRulesAndDashboardsUseKnownMetrics(t *testing.T) {
	files, err := filepath.Glob("../../deploy/monitoring/dashboard*.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(prometheus.Tool(t, "alerts"), append(files, "../../deploy/monitoring/alerts.yaml", "../../deploy/monitoring/service-levels.yaml")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	levels, err := os.ReadFile("../../deploy/monitoring/service-levels.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asked := strings.Fields(string(out))
	if len(asked) < 20 {
		t.Errorf("they use only %v", asked)
	}
	known := slices.Collect(maps.Keys(prometheus.Metrics()))
	for _, name := range asked {
		whole := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !slices.Contains(known, name) && !slices.Contains(known, whole) && !strings.Contains(string(levels), "record: "+name+"\n") {
			t.Errorf("usher has no metric %s", name)
		}
	}
}
