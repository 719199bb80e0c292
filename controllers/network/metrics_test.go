package network_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/usher-dev/usher/controllers/network"
	"github.com/usher-dev/usher/controllers/network/backend"
)

func TestMetricsSayWhatAlertsAskFor(t *testing.T) {
	c := newCluster(t)
	c.definition(t, "taken", `{}`, nil)
	c.definition(t, "orphan", `{}`, map[string]string{"app.kubernetes.io/managed-by": "usher", "app.kubernetes.io/component": "network"})
	registry := prometheus.NewRegistry()
	c.control(t, setting{options: func(o *network.Options) { o.Registry = registry }})
	good, bad := c.network(t, "good", "10.30.0.0/24", ""), c.network(t, "taken", "10.31.0.0/24", "")
	c.until(t, good, "it is made", made("10.30.0.0/24", ""))
	c.until(t, bad, "it is told", because(backend.Foreign))

	ready := func(name string, want float64) func() bool {
		return func() bool {
			got, there := value(t, registry, "usher_network_ready", map[string]string{"namespace": c.namespace, "name": name})
			return there && got == want
		}
	}
	poll(t, "one is ready", ready("good", 1))
	poll(t, "the other is not", ready("taken", 0))
	for _, result := range []string{"success", string(backend.Foreign)} {
		poll(t, "calls are counted that end in "+result, func() bool {
			got, _ := value(t, registry, "usher_network_backend_calls_total", map[string]string{"backend": "multus", "call": "ensure", "result": result})
			return got > 0
		})
	}
	poll(t, "the orphan is counted", func() bool {
		got, _ := value(t, registry, "usher_network_orphans", nil)
		return got > 0
	})

	c.remove(t, good)
	c.gone(t, good)
	poll(t, "nothing is told of what is gone", func() bool {
		_, there := value(t, registry, "usher_network_ready", map[string]string{"namespace": c.namespace, "name": "good"})
		return !there
	})
}

// value returns the value of the metric with exactly those labels.
func value(t *testing.T, registry *prometheus.Registry, name string, labels map[string]string) (value float64, there bool) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			same := len(m.GetLabel()) == len(labels)
			for _, l := range m.GetLabel() {
				same = same && labels[l.GetName()] == l.GetValue()
			}
			if same {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
			}
		}
	}
	return 0, false
}
