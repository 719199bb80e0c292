package serving

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
)

// Health serves /healthz and /readyz.
type Health struct {
	// Ready returns the reason why usher is not ready, or nil.
	Ready func() error
	// State returns lines about things that do not affect readiness, such as the
	// templates.
	State func() []string
	// Profiling also serves /debug/pprof/.
	Profiling bool
}

// Handler serves the paths in the format of Kubernetes' own.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := h.Ready()
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, "[-]ready failed: %v\n", err)
		} else if !r.URL.Query().Has("verbose") {
			fmt.Fprintln(w, "ok")
		}
		if r.URL.Query().Has("verbose") {
			if err == nil {
				fmt.Fprintln(w, "[+]certificate ok\n[+]caches ok")
			}
			fmt.Fprintln(w, strings.Join(append(h.State(), "readyz check finished"), "\n"))
		}
	})
	if h.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
