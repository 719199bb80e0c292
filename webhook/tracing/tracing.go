// Package tracing samples the spans of requests and sends them to an
// OpenTelemetry collector. Without an endpoint no provider exists, and nothing
// is traced.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Options configures the destination and the sampling of spans.
type Options struct {
	// Endpoint is the URL of an OTLP receiver over HTTP, with the default path
	// /v1/traces; "" disables tracing.
	Endpoint string
	// Sampling is the share of requests to trace, from 0 to 1, if the API server
	// does not trace its own; otherwise usher follows the API server's decision.
	Sampling float64
	// Version, Namespace and Pod identify this usher.
	Version, Namespace, Pod string
}

// Validate reports invalid options.
func (o Options) Validate() error {
	if !(o.Sampling >= 0 && o.Sampling <= 1) {
		return fmt.Errorf("trace sampling %v: write a share from 0 to 1, such as 0.01 for one in a hundred requests", o.Sampling)
	}
	if o.Endpoint == "" {
		return nil
	}
	_, err := o.address()
	return err
}

// address is the URL to post spans to.
func (o Options) address() (string, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("OTLP endpoint %q: write the URL of a receiver over HTTP, such as http://otel-collector.observability:4318", o.Endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// flushTimeout limits how long the shutdown waits for the receiver.
const flushTimeout = 3 * time.Second

// A Tracer creates spans. A nil Tracer creates none.
type Tracer struct {
	provider *sdktrace.TracerProvider
}

// New returns the Tracer of the options, or nil if tracing is disabled. A
// receiver that does not answer is logged, and only spans are lost.
func New(o Options, log logr.Logger) (*Tracer, error) {
	if err := o.Validate(); err != nil || o.Endpoint == "" {
		return nil, err
	}
	address, err := o.address()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	attributes := []attribute.KeyValue{semconv.ServiceName("usher"), semconv.ServiceVersion(o.Version), semconv.K8SNamespaceName(o.Namespace)}
	if o.Pod != "" {
		attributes = append(attributes, semconv.K8SPodName(o.Pod))
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("$OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptrace.New(ctx, &receiver{address: address, client: &http.Client{Timeout: postTimeout}, log: log.WithName("tracing")})
	if err != nil {
		return nil, err
	}
	return &Tracer{provider: sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sampling))),
		sdktrace.WithBatcher(exporter, sdktrace.WithExportTimeout(exportTimeout)),
	)}, nil
}

// Stop sends the remaining spans, within a time limit.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // lost spans are logged by the sender
}

// Handler creates a span for each request, as a child of the caller's.
func (t *Tracer) Handler(path string, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, path, otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagation.TraceContext{}))
}

// Transport creates spans only for the requests that a traced request makes.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(next, otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanFromContext(r.Context()).IsRecording() }))
}

// Stage begins a span of one stage of a traced request, and does nothing for
// others.
func Stage(ctx context.Context, name string) (staged context.Context, end func()) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func() {}
	}
	ctx, span := parent.TracerProvider().Tracer("github.com/usher-dev/usher/webhook").Start(ctx, name)
	return ctx, func() { span.End() }
}
