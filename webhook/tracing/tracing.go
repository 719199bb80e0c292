// Package tracing samples the spans of requests and sends them to an
// OpenTelemetry collector. Without an endpoint there is no provider, and nothing
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

// Options say where spans go, and how many.
type Options struct {
	// Endpoint is the URL of an OTLP receiver over HTTP, with the path /v1/traces
	// where it has none; "" turns tracing off.
	Endpoint string
	// Sampling is the share of requests that are traced, from 0 to 1, where the
	// API server does not trace its own: else usher does as it does.
	Sampling float64
	// Version, Namespace and Pod tell which usher it was.
	Version, Namespace, Pod string
}

// Validate tells what of the options cannot be.
func (o Options) Validate() error {
	if !(o.Sampling >= 0 && o.Sampling <= 1) {
		return fmt.Errorf("trace sampling %v: write a share from 0 to 1, such as 0.01 for one request in a hundred", o.Sampling)
	}
	if o.Endpoint == "" {
		return nil
	}
	_, err := o.address()
	return err
}

// address is where spans are posted to.
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

// flushTimeout bounds what the end waits for the receiver.
const flushTimeout = 3 * time.Second

// A Tracer makes spans. A nil Tracer makes none.
type Tracer struct {
	provider *sdktrace.TracerProvider
}

// New returns the Tracer of the options, nil where tracing is off. A receiver
// that does not answer is logged, and costs the spans alone.
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

// Stop sends what is left, within a bound.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what was not sent is logged where it is sent
}

// Handler makes a span of each request, below the caller's.
func (t *Tracer) Handler(path string, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, path, otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagation.TraceContext{}))
}

// Transport makes spans of the requests that a traced one makes, and of no
// others.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(next, otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanFromContext(r.Context()).IsRecording() }))
}

// Stage begins a span of one stage of a traced request, and nothing where it is
// not traced.
func Stage(ctx context.Context, name string) (staged context.Context, end func()) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func() {}
	}
	ctx, span := parent.TracerProvider().Tracer("github.com/usher-dev/usher/webhook").Start(ctx, name)
	return ctx, func() { span.End() }
}
