package serving

import "github.com/prometheus/client_golang/prometheus"

// A cause says which connection the server closed because of the limit.
type cause string

// The causes.
const (
	// causeIdle: it had been answered, and waited for its next request.
	causeIdle cause = "idle"
	// causeHeader: its first request had not arrived, nor perhaps its handshake.
	causeHeader cause = "header"
	// causeBody: the body of its request had not arrived.
	causeBody cause = "body"
	// causeFull: it was the new one itself, because every other had a request that
	// had arrived.
	causeFull cause = "full"
)

// Metrics report the connections of the servers.
type Metrics struct {
	open   *prometheus.GaugeVec
	closed *prometheus.CounterVec
}

// connectionMetrics are the metrics of one server.
type connectionMetrics struct {
	open   prometheus.Gauge
	closed func(cause)
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_connections", Help: "Open connections by server: webhook for the API server's port, health for the probes'.",
		}, []string{"server"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_connections_closed_total", Help: "Connections that the server closed because too many were open, by what the connection was doing: idle, header or body (waiting for that), full (the new one, because all others had sent a request).",
		}, []string{"server", "cause"}),
	}
	registry.MustRegister(m.open, m.closed)
	return m
}

func (m *Metrics) of(server string) connectionMetrics {
	causes := map[cause]prometheus.Counter{}
	for _, c := range []cause{causeIdle, causeHeader, causeBody, causeFull} {
		causes[c] = m.closed.WithLabelValues(server, string(c)) // 0 until it happens
	}
	return connectionMetrics{m.open.WithLabelValues(server), func(c cause) { causes[c].Inc() }}
}
