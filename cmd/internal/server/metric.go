package server

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/cmd/internal/buildinfo"
)

// registerBuildInfo exports the part and version of usher as a metric.
func registerBuildInfo(component string) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "usher_build_info", Help: "Always 1; the labels name the part of usher, its version and its Go version.",
		ConstLabels: prometheus.Labels{"component": component, "version": buildinfo.Version(), "goversion": runtime.Version()},
	})
	metrics.Registry.MustRegister(info)
	info.Set(1)
}
