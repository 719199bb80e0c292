package serving

import "github.com/prometheus/client_golang/prometheus"

// Metrics report the connections of the servers.
type Metrics struct {
	open   *prometheus.GaugeVec
	closed *prometheus.CounterVec
}

// connectionMetrics are the metrics of one server.
type connectionMetrics struct {
	open   prometheus.Gauge
	closed prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_connections", Help: "Open connections by server: webhook for the API server's port, health for the probes'.",
		}, []string{"server"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_connections_closed_total", Help: "Connections that the server closed because there were too many, or too many new ones.",
		}, []string{"server"}),
	}
	registry.MustRegister(m.open, m.closed)
	return m
}

func (m *Metrics) of(server string) connectionMetrics {
	return connectionMetrics{m.open.WithLabelValues(server), m.closed.WithLabelValues(server)}
}
