package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/certs"
	facts "github.com/usher-dev/usher/facts/cluster"
	monitoring "github.com/usher-dev/usher/test/prometheus"
	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/serving"
)

// TestTheListOfMetricsIsThatOfTheWebhook compares the names and labels in
// test/prometheus/metrics.yaml, with which rules and dashboards are tested, with
// those that the webhook registers.
func TestTheListOfMetricsIsThatOfTheWebhook(t *testing.T) {
	registry := prometheus.NewRegistry()
	review.NewMetrics(registry)
	facts.NewMetrics(registry)
	registration.NewMetrics(registry)
	serving.NewMetrics(registry)
	registry.MustRegister(certs.NewMetrics(nil, nil))
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		registry.Describe(descriptions)
	}()
	description := regexp.MustCompile(`fqName: "([^"]+)".* variableLabels: {([^}]*)}`)
	for d := range descriptions {
		found := description.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("%s is written differently", d)
		}
		labels := strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' })
		slices.Sort(labels)
		if want, known := monitoring.Metrics()[found[1]]; !known || !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %v; metrics.yaml says %v (known: %t)", found[1], labels, want, known)
		}
	}
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
