package serving

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkRequest measures a request over a TLS connection that is kept, with
// the limit of connections and without.
func BenchmarkRequest(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 800)
	for _, limited := range []bool{false, true} {
		name := map[bool]string{false: "without the limit", true: "with the limit"}[limited]
		b.Run(name, func(b *testing.B) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				allow(w, r)
			}))
			if limited {
				limitConnections(server.Config, DefaultConnections, NewMetrics(prometheus.NewRegistry()).of("webhook"))
			}
			server.StartTLS()
			defer server.Close()
			client := server.Client()
			b.ReportAllocs()
			for b.Loop() {
				res, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}
