package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// tellVersion has /metrics say which version of usher runs as what, which tells
// its processes from others'.
func tellVersion(component string) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "usher_build_info", Help: "1; the labels say which part of usher this is, of which version and Go version.",
		ConstLabels: prometheus.Labels{"component": component, "version": cli.Version(), "goversion": runtime.Version()},
	})
	metrics.Registry.MustRegister(info)
	info.Set(1)
}
