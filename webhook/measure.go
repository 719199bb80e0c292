package webhook

import (
	"net/http"
	"time"
)

// measure times the requests of a path and counts those in flight.
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
