package registration

import "github.com/prometheus/client_golang/prometheus"

// Metrics tell whether the registration is kept.
type Metrics struct{ current prometheus.Gauge }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{current: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "usher_registration_current",
		Help: "1 where this replica holds the Lease and the webhook configurations are as it declares them, 0 where it does not or they are not.",
	})}
	registry.MustRegister(m.current)
	return m
}

// is takes in whether the registration is as this replica declares it.
func (m *Metrics) is(current bool) {
	value := 0.0
	if current {
		value = 1
	}
	m.current.Set(value)
}
