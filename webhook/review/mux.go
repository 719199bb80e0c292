package review

import (
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/usher-dev/usher/webhook/tracing"
)

// Options are shared by all paths of a server.
type Options struct {
	// Ready is closed once decisions are possible.
	Ready <-chan struct{}
	// MaxConcurrent limits the concurrent decisions; 0 derives it from the CPUs.
	MaxConcurrent int
	Metrics       *Metrics
	// Tracer creates a span for each request and stage; nil creates none.
	Tracer *tracing.Tracer
	Log    logr.Logger
}

// NewMux serves each handler at its path.
func NewMux(o Options, handlers ...Handler) *http.ServeMux {
	mux, limit, decisions := http.NewServeMux(), newLimit(o.MaxConcurrent), logr.ToSlogHandler(o.Log)
	for _, h := range handlers {
		e := &endpoint{handler: h, ready: o.Ready, limit: limit, metrics: o.Metrics, log: o.Log, decisions: decisions}
		mux.Handle(h.Path, measure(o.Metrics, h.Path, o.Tracer.Handler(h.Path, e)))
	}
	return mux
}

// measure measures the duration of a path's requests and counts those in
// flight.
func measure(m *Metrics, path string, next http.Handler) http.Handler {
	duration := m.duration.WithLabelValues(path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		m.inFlight.Inc()
		defer func() {
			m.inFlight.Dec()
			duration.Observe(time.Since(start).Seconds())
		}()
		next.ServeHTTP(w, r)
	})
}
