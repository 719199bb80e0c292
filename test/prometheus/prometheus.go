// Package prometheus scrapes usher's processes in tests, and evaluates usher's
// alerts with Prometheus' own storage and rules. The test controls the clock:
// it sets the time between two scrapes.
package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Target is scraped. Job and Instance are its labels, which monitors also add
// as Namespace and Pod.
type Target struct {
	Job, Instance string
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

// A Prometheus evaluates deploy/monitoring/alerts.yaml.
type Prometheus struct {
	// Targets are scraped in each round.
	Targets []Target

	t      *testing.T
	now    time.Time
	write  *json.Encoder
	read   *json.Decoder
	firing []Alert
}

// New starts one, which ends with the test. Its clock begins now.
func New(t *testing.T, targets ...Target) *Prometheus {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..")
	// Go keeps the tools of a module in its build cache, and prints their path.
	build := exec.Command("go", "tool", "-n", "prometheus")
	build.Dir = filepath.Join(root, "tools", "packaging")
	build.Stderr = os.Stderr
	program, err := build.Output()
	if err != nil {
		t.Fatalf("building the program prometheus: %v", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), filepath.Join(root, "deploy", "monitoring", "alerts.yaml"))
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
	return &Prometheus{Targets: targets, t: t, now: time.Now(), write: json.NewEncoder(in), read: json.NewDecoder(out)}
}

// interval is how often Prometheus scrapes and evaluates by default.
const interval = time.Minute

// Pass advances the time by that much, and scrapes every minute of it. Before
// each scrape it calls the recurring functions.
func (p *Prometheus) Pass(d time.Duration, meanwhile ...func()) {
	p.t.Helper()
	for end := p.now.Add(d); p.now.Before(end); {
		for _, happens := range meanwhile {
			happens()
		}
		p.now = p.now.Add(interval)
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
	}{At: p.now}
	for _, scraped := range p.Targets {
		text, err := scraped.Get(p.t.Context())
		round.Targets = append(round.Targets, target{
			Labels: map[string]string{"job": scraped.Job, "instance": scraped.Instance, "namespace": "usher-system", "pod": scraped.Job + "-0"},
			Up:     err == nil, Text: text,
		})
	}
	if err := p.write.Encode(round); err != nil {
		p.t.Fatalf("prometheus: %v", err)
	}
	p.firing = nil
	if err := p.read.Decode(&p.firing); err != nil {
		p.t.Fatalf("prometheus: %v", err)
	}
}

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
