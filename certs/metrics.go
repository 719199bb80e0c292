package certs

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// expiry is a collector, so that its values are current at the time of the
// scrape.
type expiry struct {
	source Source
	clock  clock.PassiveClock
	desc   *prometheus.Desc
}

// NewMetrics exports the remaining lifetime of a source's certificates.
func NewMetrics(source Source, now clock.PassiveClock) prometheus.Collector {
	return &expiry{source: source, clock: now, desc: prometheus.NewDesc(
		"usher_certificate_expiry_seconds", "Seconds until the serving certificate and its CA expire.", []string{"what"}, nil,
	)}
}

// Describe implements prometheus.Collector.
func (e *expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect implements prometheus.Collector.
func (e *expiry) Collect(out chan<- prometheus.Metric) {
	state := e.source.State()
	for what, cert := range map[string]*x509.Certificate{"serving": state.Serving, "ca": state.CA} {
		if cert != nil {
			out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, cert.NotAfter.Sub(e.clock.Now()).Seconds(), what)
		}
	}
}
