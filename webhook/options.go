package webhook

import (
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/serving"
	"github.com/usher-dev/usher/webhook/tracing"
)

// Options configure Run. Addresses are host:port.
type Options struct {
	// Namespace is usher's own: its templates and its CA are there.
	Namespace string
	// Service is the Service that leads to this server; URL is the address of
	// one outside the cluster instead.
	Service string
	URL     string
	// Annotations are those of the webhook configurations.
	Annotations map[string]string
	// BindAddress serves the API server, HealthAddress the kubelet,
	// MetricsAddress Prometheus; "0" turns the last two off.
	BindAddress, HealthAddress, MetricsAddress string
	// Pod is the pod this runs in, in Namespace; "" outside of a cluster.
	Pod string
	// InjectionFailurePolicy is the failurePolicy for objects that ask for a
	// template that is not mandatory: Ignore where it is "".
	InjectionFailurePolicy admissionregistrationv1.FailurePolicyType
	// ShutdownDelay is how long requests are still answered after readiness fell.
	ShutdownDelay time.Duration
	// MaxConcurrent bounds the decisions at once; 0 derives it from the CPUs.
	MaxConcurrent int
	// ClientCAFile holds the CA of the API server's client certificate, which is
	// not required where it is ""; ClientNames are the names it may have.
	ClientCAFile string
	ClientNames  []string
	// HTTP2 offers HTTP/2 in addition to HTTP/1.1, Profiling serves
	// /debug/pprof/ on HealthAddress.
	HTTP2, Profiling bool
	// Certificates say where the serving certificate comes from.
	Certificates Certificates
	// Tracing says where spans of requests go.
	Tracing tracing.Options
	// Registry takes the metrics: the one that MetricsAddress serves where nil.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// complete sets what follows from other options.
func (o *Options) complete() {
	o.Tracing.Namespace, o.Tracing.Pod = o.Namespace, o.Pod
	if o.Registry == nil {
		o.Registry = metrics.Registry
	}
}

// target is where the API server finds this server, trusted by a bundle that
// changes.
func target(o Options, bundle func() []byte) func() registration.Target {
	return func() registration.Target {
		return registration.Target{Namespace: o.Namespace, Service: o.Service, Port: 443, URL: o.URL, CABundle: bundle(), Annotations: o.Annotations, Timeout: review.Timeout}
	}
}

// listening is where this server listens.
func listening(o Options) serving.Options {
	return serving.Options{
		Address: o.BindAddress, HealthAddress: o.HealthAddress, ClientCAFile: o.ClientCAFile, ClientNames: o.ClientNames,
		HTTP2: o.HTTP2, BodyTimeout: review.Timeout, Log: o.Log,
	}
}

// hosts are the names that the serving certificate is for.
func hosts(o Options) []string {
	service := o.Service + "." + o.Namespace
	names := []string{service + ".svc", service + ".svc.cluster.local", service}
	if u, err := url.Parse(o.URL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	return names
}
