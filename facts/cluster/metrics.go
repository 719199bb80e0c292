package cluster

import "github.com/prometheus/client_golang/prometheus"

// Metrics describe the templates and the configuration that serve.
type Metrics struct {
	configuration prometheus.Gauge
	templates     *prometheus.GaugeVec
	templateInfo  *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		configuration: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "usher_configuration_valid", Help: "1 where the ConfigMap usher can be used as it is or does not exist, 0 where the last valid configuration is in force instead.",
		}),
		templates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_template_valid", Help: "1 where the template's ConfigMap can be used as it is, 0 where it cannot; an older version may serve then.",
		}, []string{"template"}),
		templateInfo: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "usher_template_info", Help: "The version of each template that serves.",
		}, []string{"template", "version"}),
	}
	registry.MustRegister(m.configuration, m.templates, m.templateInfo)
	return m
}
