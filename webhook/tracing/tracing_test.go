package tracing_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/webhook/tracing"
)

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	const endpoint = "write the URL of a receiver over HTTP, such as http://otel-collector.observability:4318"
	tests := map[string]struct {
		options tracing.Options
		want    string
	}{
		"none":                 {tracing.Options{}, ""},
		"an endpoint":          {tracing.Options{Endpoint: "http://collector:4318", Sampling: 1}, ""},
		"an address, no URL":   {tracing.Options{Endpoint: "collector:4317"}, `OTLP endpoint "collector:4317": ` + endpoint},
		"gRPC":                 {tracing.Options{Endpoint: "grpc://collector:4317"}, `OTLP endpoint "grpc://collector:4317": ` + endpoint},
		"a percentage":         {tracing.Options{Sampling: 10}, "trace sampling 10: write a share from 0 to 1, such as 0.01 for one in a hundred requests"},
		"a share that is none": {tracing.Options{Sampling: -0.1}, "trace sampling -0.1: write a share from 0 to 1, such as 0.01 for one in a hundred requests"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := tracing.New(tc.options, logr.Discard()); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheCallerSaysWhatIsTracedElseTheSampling(t *testing.T) {
	const sampled, notSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	tests := map[string]struct {
		traceparent string
		sampling    float64
		want        int
	}{
		"a caller that traces":                {sampled, 0, 1},
		"a caller that does not":              {notSampled, 1, 0},
		"a caller that says nothing, all":     {"", 1, 1},
		"a caller that says nothing, none":    {"", 0, 0},
		"a header that is not a traceparent":  {"00-zz", 1, 1},
		"a header that is none, and no share": {"00-zz", 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			tracer := newTracer(t, c.URL, tc.sampling)
			serve(tracer, tc.traceparent)
			tracer.Stop()
			spans := c.named("POST /mutate")
			if len(spans) != tc.want {
				t.Fatalf("%d spans, want %d", len(spans), tc.want)
			}
			for _, s := range spans {
				if diff := cmp.Diff([]string{"decide"}, c.below(s)); diff != "" {
					t.Errorf("stages (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAReceiverIsAskedAgain(t *testing.T) {
	c := newCollector(t, http.StatusServiceUnavailable)
	tracer := newTracer(t, c.URL, 1)
	serve(tracer, "")
	tracer.Stop()
	if got := len(c.named("POST /mutate")); got != 1 {
		t.Errorf("%d spans arrived, want one", got)
	}
}

func TestWithoutAnEndpointNothingIsWrapped(t *testing.T) {
	tracer := newTracer(t, "", 1)
	if tracer != nil {
		t.Fatal("there is a Tracer")
	}
	handler := http.NewServeMux()
	if got := tracer.Handler("/mutate", handler); got != http.Handler(handler) {
		t.Error("the handler is wrapped")
	}
	if got := tracer.Transport(http.DefaultTransport); got != http.DefaultTransport {
		t.Error("the transport is wrapped")
	}
	if allocations := testing.AllocsPerRun(100, func() {
		_, end := tracing.Stage(t.Context(), "decide")
		end()
	}); allocations != 0 {
		t.Errorf("a stage allocates %v times", allocations)
	}
	tracer.Stop()
}

func newTracer(t *testing.T, endpoint string, sampling float64) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(tracing.Options{Endpoint: endpoint, Sampling: sampling}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// serve answers a request with one stage.
func serve(tracer *tracing.Tracer, traceparent string) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, end := tracing.Stage(r.Context(), "decide")
		end()
	})
	r := httptest.NewRequest(http.MethodPost, "/mutate", nil)
	r.Header.Set("Traceparent", traceparent)
	mux := http.NewServeMux()
	mux.Handle("/mutate", tracer.Handler("/mutate", handler))
	mux.ServeHTTP(httptest.NewRecorder(), r)
}
