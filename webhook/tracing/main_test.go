package tracing_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// A collector receives spans like OpenTelemetry's own.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	*httptest.Server

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
	answers  []int // to the first posts, before all are accepted
}

func newCollector(t *testing.T, answers ...int) *collector {
	t.Helper()
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := &collectorpb.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	if len(c.answers) > 0 {
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	_, _ = c.Export(r.Context(), request)
}

// Export also receives spans over gRPC, because kube-apiserver sends only
// those.
func (c *collector) Export(_ context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		c.resource = map[string]string{}
		for _, a := range resource.Resource.Attributes {
			c.resource[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// overGRPC returns the address of a collector that receives spans over gRPC.
func (c *collector) overGRPC(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// has reports whether a span arrived.
func (c *collector) has(id []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.spans, func(s *tracepb.Span) bool { return bytes.Equal(s.SpanId, id) })
}

// named returns the spans with a name.
func (c *collector) named(name string) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// below returns the names of a span's children, in the order they ended.
func (c *collector) below(parent *tracepb.Span) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.spans {
		if bytes.Equal(s.ParentSpanId, parent.SpanId) {
			names = append(names, s.Name)
		}
	}
	return names
}
