package registration

import "github.com/prometheus/client_golang/prometheus"

// Metrics report whether the registration is up to date.
type Metrics struct{ current prometheus.Gauge }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{current: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "usher_registration_current",
		Help: "1 if this replica holds the Lease and the webhook configurations match what it declares, 0 otherwise.",
	})}
	registry.MustRegister(m.current)
	return m
}

// is sets whether the registration is as this replica declares it.
func (m *Metrics) is(current bool) {
	value := 0.0
	if current {
		value = 1
	}
	m.current.Set(value)
}
