package network

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/controllers/network/backend"
)

// metrics are the controller's Prometheus metrics.
type metrics struct {
	ready   *prometheus.GaugeVec
	calls   *prometheus.CounterVec
	orphans prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	return &metrics{
		ready: registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_network_ready", Help: "Whether a Network exists as its spec asks: 1 or 0.",
		}, []string{"namespace", "name"})),
		calls: registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_network_backend_calls_total", Help: "Requests of the Network controller to its backend, by result.",
		}, []string{"backend", "call", "result"})),
		orphans: registered(r, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "usher_network_orphans", Help: "Orphaned networks that the audit at startup found and did not remove.",
		})),
	}
}

// registered registers a metric, or returns the registered one: tests set up
// controllers more than once in a process.
func registered[C prometheus.Collector](r prometheus.Registerer, c C) C {
	if r == nil {
		return c
	}
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if known, ok := already.ExistingCollector.(C); ok {
			return known
		}
	}
	return c
}

// observe sets the metrics from a Network's status.
func (m *metrics) observe(n *samplecrdv1.Network) {
	value := 0.0
	if meta.IsStatusConditionTrue(n.Status.Conditions, samplecrdv1.Ready) {
		value = 1
	}
	m.ready.WithLabelValues(n.Namespace, n.Name).Set(value)
}

// forget drops a deleted Network.
func (m *metrics) forget(n types.NamespacedName) { m.ready.DeleteLabelValues(n.Namespace, n.Name) }

// measured counts the requests to a backend.
type measured struct {
	backend.Backend
	calls *prometheus.CounterVec
}

func (m *measured) count(call string, err error) {
	result := "success"
	if err != nil {
		result = string(backend.ReasonOf(err))
	}
	m.calls.WithLabelValues(m.Name(), call, result).Inc()
}

func (m *measured) Ensure(ctx context.Context, want backend.Wanted) (*backend.Made, error) {
	made, err := m.Backend.Ensure(ctx, want)
	m.count("ensure", err)
	return made, err
}

func (m *measured) Delete(ctx context.Context, owner backend.Owner) error {
	err := m.Backend.Delete(ctx, owner)
	m.count("delete", err)
	return err
}

func (m *measured) List(ctx context.Context) ([]backend.Made, error) {
	all, err := m.Backend.List(ctx)
	m.count("list", err)
	return all, err
}
