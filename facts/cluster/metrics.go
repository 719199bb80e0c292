package cluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/version"
)

// Metrics describes the templates and the configuration in force.
type Metrics struct {
	configuration prometheus.Gauge
	templates     *prometheus.GaugeVec
	templateInfo  *prometheus.GaugeVec
	kubernetes    *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		configuration: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "usher_configuration_valid", Help: "1 if the ConfigMap usher is valid or does not exist, 0 if the last valid configuration is in force instead.",
		}),
		templates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_template_valid", Help: "1 if the template's ConfigMap is valid, 0 if it is not, in which case an older version may serve.",
		}, []string{"template"}),
		templateInfo: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_template_info", Help: "The version of each template that serves.",
		}, []string{"template", "version"}),
		kubernetes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_kubernetes_info", Help: "1 for the version of the API server, as usher last read it.",
		}, []string{"version"}),
	}
	registry.MustRegister(m.configuration, m.templates, m.templateInfo, m.kubernetes)
	return m
}

// server sets the version of the API server.
func (m *Metrics) server(version *version.Version) {
	if m != nil {
		m.kubernetes.Reset()
		m.kubernetes.WithLabelValues(version.String()).Set(1)
	}
}
