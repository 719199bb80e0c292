package prometheus_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/test/prometheus"
)

// begin is when the installations start.
var begin = time.Now()

// seconds is the time of a minute, for metrics that are timestamps.
func seconds(minute int) float64 {
	return float64(begin.Add(time.Duration(minute) * time.Minute).Unix())
}

// A setting is what Prometheus monitors, and by which rules.
type setting struct {
	name          string
	installations []installation
	// rules are the values of the chart of the first installations, which bring
	// rules; without any, those of deploy/monitoring are used.
	rules []string
}

var (
	production = installation{namespace: "usher-system", replicas: 2, controller: true, version: "1"}
	// The canary tries a newer version of the same template.
	canary = installation{namespace: "usher-canary", replicas: 2, version: "2"}
	single = installation{namespace: "usher-canary", replicas: 1, version: "2"}
)

func (i installation) in(cluster string) installation {
	i.cluster = cluster
	return i
}

var settings = []setting{
	{name: "one", installations: []installation{production}},
	{name: "two with the rules of one", installations: []installation{canary, production}},
	{name: "two with rules, and a second cluster", installations: []installation{production.in("a"), canary.in("a"), production.in("b")},
		rules: []string{"monitoring: {rules: {cluster: a}}", "{controller: {enabled: false}, monitoring: {rules: {cluster: a}}}"}},
}

// broken are the installations of a setting to break; the others stay healthy.
func (s setting) broken() []installation { return s.installations[:max(1, len(s.installations)-1)] }

// watch starts a Prometheus with the rules of a setting.
func (s setting) watch(t *testing.T) *prometheus.Prometheus {
	t.Helper()
	if s.rules == nil {
		return prometheus.New(t)
	}
	var files []string
	for i, values := range s.rules {
		files = append(files, chartRules(t, s.installations[i].namespace, values))
	}
	return prometheus.NewWithRules(t, files)
}

// chartRules writes the rules that the chart brings to a file.
func chartRules(t *testing.T, namespace, values string) string {
	t.Helper()
	content, err := render(t, namespace, values)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// rendered are the rules by namespace and values.
var rendered sync.Map

func render(t *testing.T, namespace, values string) ([]byte, error) {
	t.Helper()
	if known, ok := rendered.Load(namespace + values); ok {
		return known.([]byte), nil
	}
	cmd := exec.Command(prometheus.Tool(t, "helm"), "template", "usher", "../../deploy/chart/usher", "-n", namespace, "--set", "monitoring.rules.enabled=true", "-s", "templates/monitoring/rules.yaml", "-f", "-")
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	cmd.Stdin, cmd.Stderr = strings.NewReader(values), os.Stderr
	manifest, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(manifest, &rule); err != nil {
		return nil, err
	}
	content, err := yaml.Marshal(rule.Spec)
	rendered.Store(namespace+values, content)
	return content, err
}

// play lets time pass, in which a cause breaks one of the installations after
// healthy minutes.
func (s setting) play(p *prometheus.Prometheus, c *cause, broken, healthy int, after time.Duration) {
	p.Now = begin
	for m := range healthy + int(after/time.Minute) {
		p.Targets = nil
		calls := map[string]int{} // the installation that counts the API server's calls of a cluster
		states := make([]state, len(s.installations))
		for i, installed := range s.installations {
			states[i] = installed.healthy(m)
			if _, counted := calls[installed.cluster]; !counted || i == broken {
				calls[installed.cluster] = i
			}
			if c != nil && i == broken && m >= healthy {
				c.breaks(&states[i], m-healthy)
			}
		}
		for i, installed := range s.installations {
			p.Targets = append(p.Targets, installed.targets(states[i], calls[installed.cluster] == i)...)
		}
		p.Pass(time.Minute)
	}
}

// want are the labels with which an alert fires because of a cause in an
// installation.
func (c cause) want(i installation) []string {
	var all []string
	for _, alert := range c.fires {
		namespace := i.namespace
		switch {
		case c.cluster:
			namespace = ""
		case strings.HasPrefix(alert, "UsherEtcd"), alert == "UsherNetworkNotReady":
			namespace = "shop"
		}
		all = append(all, fmt.Sprintf("%s cluster=%s namespace=%s", alert, i.cluster, namespace))
	}
	return all
}

// firing are the alerts that fire, as want writes them.
func firing(p *prometheus.Prometheus) []string {
	all := map[string]bool{}
	for _, a := range p.Alerts() {
		all[fmt.Sprintf("%s cluster=%s namespace=%s", a.Name, a.Labels["cluster"], a.Labels["namespace"])] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// TestCausesFireTheirAlerts breaks one of the installations of each setting in
// each way. The alert of the cause fires for that installation, and no other
// alert fires.
func TestCausesFireTheirAlerts(t *testing.T) {
	for _, s := range settings {
		for broken, installed := range s.broken() {
			for _, c := range causes {
				if c.controller && !installed.controller || !s.covers(c, installed) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s%s/%s", s.name, installed.cluster, installed.namespace, c.name), func(t *testing.T) {
					t.Parallel()
					p := s.watch(t)
					s.play(p, &c, broken, max(6, c.healthy), c.after)
					if diff := cmp.Diff(c.want(installed), firing(p)); diff != "" {
						t.Errorf("what fires (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// covers reports whether the rules of the setting find a cause in the
// installation: only its own rules find what is missing.
func (s setting) covers(c cause, i installation) bool {
	if s.rules != nil || i.namespace == "usher-system" {
		return true
	}
	return !slices.Contains(c.fires, "UsherDown") && !slices.Contains(c.fires, "UsherNotRedundant")
}

// TestHealthyInstallationsFireNothing has templates with two versions on purpose:
// revisions, and other versions in a canary. One replica is on purpose, too.
func TestHealthyInstallationsFireNothing(t *testing.T) {
	alone := production
	alone.replicas = 1
	for _, s := range append(slices.Clone(settings),
		setting{name: "a canary of one replica", installations: []installation{production, single}},
		setting{name: "a canary of one replica with rules", installations: []installation{production, single}, rules: []string{"", "{replicas: 1, controller: {enabled: false}}"}},
		setting{name: "one replica", installations: []installation{alone}, rules: []string{"replicas: 1"}},
	) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := s.watch(t)
			s.play(p, nil, 0, 70, 0)
			p.Quiet()
		})
	}
	t.Run("one replica, as kube-state-metrics says", func(t *testing.T) {
		t.Parallel()
		p := prometheus.New(t)
		p.Targets = append(alone.targets(alone.healthy(0), true), prometheus.Target{
			Job: "kube-state-metrics", Instance: "10.0.0.3:8080",
			Get: series{`kube_deployment_spec_replicas{namespace="usher-system",deployment="usher-webhook"}`: 1}.get,
		})
		p.Pass(30 * time.Minute)
		p.Quiet()
	})
}

// TestEveryAlertHasACause compares the alerts with the causes.
func TestEveryAlertHasACause(t *testing.T) {
	text, err := os.ReadFile("../../deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	alerts, caused := map[string]bool{}, map[string]bool{}
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			alerts[rule.Alert] = true
		}
	}
	for _, c := range causes {
		for _, alert := range c.fires {
			caused[alert] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(alerts)), slices.Sorted(maps.Keys(caused))); diff != "" {
		t.Errorf("-alerts +those with a cause:\n%s", diff)
	}
}
