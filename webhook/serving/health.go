package serving

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
)

// Health answers /healthz and /readyz.
type Health struct {
	// Ready returns what is not ready yet, nil if everything is.
	Ready func() error
	// State describes in lines what is worth knowing and does not change
	// readiness: the templates.
	State func() []string
	// Profiling serves /debug/pprof/, too.
	Profiling bool
}

// Handler serves the paths, in the form of Kubernetes' own.
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
