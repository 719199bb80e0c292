// Package prometheus scrapes usher's processes in tests, and evaluates usher's
// rules and queries with Prometheus' own storage and engine. The test controls
// the clock: it sets the time between two scrapes.
package prometheus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Target is scraped. Job and Instance are its labels, to which monitors add the
// namespace and the pod.
type Target struct {
	Job, Instance string
	// Namespace is usher-system if it is empty. Cluster may be empty.
	Namespace, Cluster string
	// Labels are those that the monitor of the target adds or changes.
	Labels map[string]string
	// Get returns the text of /metrics; an error means that the target is down.
	Get func(ctx context.Context) (string, error)
}

// At returns the target of a process that serves /metrics there.
func At(job, address string) Target {
	return Target{Job: job, Instance: address, Get: func(ctx context.Context) (string, error) { return get(ctx, "http://"+address+"/metrics") }}
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, res.Status)
	}
	return string(body), err
}

// An Alert fires.
type Alert struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// A Sample is one of the answer to a query.
type Sample struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value,string"`
}

// A Prometheus evaluates rules.
type Prometheus struct {
	// Targets are scraped in each round.
	Targets []Target
	// Now is its clock, which Pass advances.
	Now time.Time

	t       *testing.T
	write   *json.Encoder
	read    *json.Decoder
	firing  []Alert
	queries []string
	answers [][]Sample
}

// rulesFolder has the files that Prometheus loads without the operator.
func rulesFolder() string { return filepath.Join(root(), "deploy", "monitoring") }

func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// New starts one with the rules in deploy/monitoring. It ends with the test. Its
// clock begins now.
func New(t *testing.T, targets ...Target) *Prometheus {
	t.Helper()
	return NewWithRules(t, []string{filepath.Join(rulesFolder(), "alerts.yaml"), filepath.Join(rulesFolder(), "service-levels.yaml")}, targets...)
}

// NewWithRules is New with the rules of other files.
func NewWithRules(t *testing.T, files []string, targets ...Target) *Prometheus {
	t.Helper()
	cmd := exec.Command(Tool(t, "prometheus"), files...)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("prometheus: %v", err)
		}
	})
	return &Prometheus{Targets: targets, Now: time.Now(), t: t, write: json.NewEncoder(in), read: json.NewDecoder(out)}
}

// Tool builds a program of tools/packaging and returns its path.
func Tool(t *testing.T, name string) string {
	t.Helper()
	build, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		// Go keeps the tools of a module in its build cache, and prints their path.
		cmd := exec.Command("go", "tool", "-n", name)
		cmd.Dir, cmd.Stderr = filepath.Join(root(), "tools", "packaging"), os.Stderr
		path, err := cmd.Output()
		return strings.TrimSpace(string(path)), err
	}))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("building the program %s: %v", name, err)
	}
	return path
}

// builds are the programs of tools/packaging that were asked for.
var builds sync.Map

// interval is how often Prometheus scrapes and evaluates by default.
const interval = time.Minute

// Pass advances the time by that much, and scrapes every minute of it. Before
// each scrape it calls the recurring functions.
func (p *Prometheus) Pass(d time.Duration, meanwhile ...func()) {
	p.t.Helper()
	for end := p.Now.Add(d); p.Now.Before(end); {
		for _, happens := range meanwhile {
			happens()
		}
		p.Now = p.Now.Add(interval)
		p.scrape()
	}
}

func (p *Prometheus) scrape() {
	p.t.Helper()
	type target struct {
		Labels map[string]string `json:"labels"`
		Up     bool              `json:"up"`
		Text   string            `json:"text"`
	}
	round := struct {
		At      time.Time `json:"at"`
		Targets []target  `json:"targets"`
		Queries []string  `json:"queries"`
	}{At: p.Now, Queries: p.queries}
	for _, scraped := range p.Targets {
		text, err := scraped.Get(p.t.Context())
		if err := known(text); err != nil {
			p.t.Errorf("%s: %v", scraped.Instance, err)
		}
		labels := map[string]string{"job": scraped.Job, "instance": scraped.Instance, "namespace": cmp.Or(scraped.Namespace, "usher-system"), "pod": scraped.Job + "-0"}
		if scraped.Cluster != "" {
			labels["cluster"] = scraped.Cluster
		}
		maps.Copy(labels, scraped.Labels)
		round.Targets = append(round.Targets, target{Labels: labels, Up: err == nil, Text: text})
	}
	if err := p.write.Encode(round); err != nil {
		p.t.Fatalf("prometheus: %v", err)
	}
	var result struct {
		Firing  []Alert    `json:"firing"`
		Answers [][]Sample `json:"answers"`
	}
	if err := p.read.Decode(&result); err != nil {
		p.t.Fatalf("prometheus: %v", err)
	}
	p.firing, p.answers = result.Firing, result.Answers
}

// Query scrapes once more, and returns the answers to instant queries.
func (p *Prometheus) Query(expressions ...string) [][]Sample {
	p.t.Helper()
	p.queries = expressions
	p.Pass(interval)
	p.queries = nil
	return p.answers
}

// Alerts returns the firing alerts.
func (p *Prometheus) Alerts() []Alert { return p.firing }

// Firing returns the names of the firing alerts, sorted and without duplicates.
func (p *Prometheus) Firing() []string {
	var names []string
	for _, a := range p.firing {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fires fails the test unless the alert fires with the labels, given as
// alternating names and values.
func (p *Prometheus) Fires(name string, labels ...string) {
	p.t.Helper()
	var others []map[string]string
	for _, a := range p.firing {
		if a.Name != name {
			continue
		}
		has := true
		for i := 0; i < len(labels); i += 2 {
			has = has && a.Labels[labels[i]] == labels[i+1]
		}
		if has {
			return
		}
		others = append(others, a.Labels)
	}
	p.t.Errorf("%s %v does not fire, but with %v; what fires: %v", name, labels, others, p.Firing())
}

// Quiet fails the test if one of the alerts fires; without names, if any does.
func (p *Prometheus) Quiet(names ...string) {
	p.t.Helper()
	for _, a := range p.firing {
		if len(names) == 0 || slices.Contains(names, a.Name) {
			p.t.Errorf("%s fires: %s", a.Name, a.Annotations["summary"])
		}
	}
}

// Samples returns the lines of a metric in a target's output.
func Samples(text, metric string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, metric+"{") || strings.HasPrefix(line, metric+" ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
