package review

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the work of the request path.
type Metrics struct {
	decisions  *prometheus.CounterVec
	injections *prometheus.CounterVec
	findings   *prometheus.CounterVec
	malformed  *prometheus.CounterVec
	faults     *prometheus.CounterVec
	panics     prometheus.Counter
	throttled  *prometheus.CounterVec
	inFlight   prometheus.Gauge
	duration   *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_decisions_total", Help: "Decisions by path, reason code and whether the object was allowed.",
		}, []string{"path", "reason", "allowed"}),
		injections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_injections_total", Help: "Pods that got a template, dry-runs included.",
		}, []string{"template"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_findings_total", Help: "Findings by rule or transition, whether or not they were enforced.",
		}, []string{"rule"}),
		malformed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_malformed_requests_total", Help: "Requests without an AdmissionReview, answered with 4xx.",
		}, []string{"path"}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_faults_total", Help: "Requests that usher could not decide and answered with 5xx, so that the failurePolicy decided.",
		}, []string{"path"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "usher_panics_total", Help: "Panics contained in their request.",
		}),
		throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_throttled_total", Help: "Requests answered with 429 because too many came at once; the API server retries them.",
		}, []string{"path"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "usher_requests_in_flight", Help: "Requests in progress.",
		}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "usher_request_duration_seconds", Help: "Time from a request's header to its response.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16), // to 8 s
		}, []string{"path"}),
	}
	registry.MustRegister(m.decisions, m.injections, m.findings, m.malformed, m.faults, m.panics,
		m.throttled, m.inFlight, m.duration)
	return m
}

func (m *Metrics) decided(path string, r *Response) {
	allowed := "false"
	if r.Allowed {
		allowed = "true"
	}
	m.decisions.WithLabelValues(path, r.Reason, allowed).Inc()
	for _, rule := range r.Rules {
		m.findings.WithLabelValues(rule).Inc()
	}
	for _, template := range r.Injected {
		m.injections.WithLabelValues(template).Inc()
	}
}
