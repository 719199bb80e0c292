package webhooktest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Until waits until the condition is true; what says it in words.
func (c *Cluster) Until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// Decisions returns how many decisions of a path were counted so far.
func (c *Cluster) Decisions(t *testing.T, path string) float64 {
	t.Helper()
	families, err := c.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "usher_decisions_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "path" && l.GetValue() == path }) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// Readyz returns the answer of a ready usher to /readyz?verbose.
func (c *Cluster) Readyz(t *testing.T) string {
	t.Helper()
	status, body := Get(t, "http://"+c.usher.Health+"/readyz?verbose")
	if status != http.StatusOK {
		t.Errorf("/readyz is %d: %s", status, body)
	}
	return body
}

// Health is the address of usher's /readyz.
func (c *Cluster) Health() string { return c.usher.Health }

// Get returns the status and the body of an answer.
func Get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
