package webhook

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/serving"
	"github.com/usher-dev/usher/webhook/tracing"
)

// Options configures Run. Addresses are host:port.
type Options struct {
	// Namespace is usher's own namespace, which contains its templates and its CA.
	Namespace string
	// Service is the name of the Service of this server; URL is the address of a
	// server outside the cluster instead.
	Service string
	URL     string
	// ConfigurationName is the name of the webhook configurations; the default is
	// wellknown.DefaultConfigurationName. Each installation in a cluster needs another one.
	ConfigurationName string
	// NamespaceSelector selects the namespaces that this installation serves; nil
	// selects all.
	NamespaceSelector *metav1.LabelSelector
	// ProofNamespace is the namespace for dry runs of templates; the default is
	// cluster.DefaultProofNamespace.
	ProofNamespace string
	// Annotations are set on the webhook configurations.
	Annotations map[string]string
	// OwnerClusterRole is the name of the ClusterRole that owns the webhook
	// configurations, so that they are deleted along with it; "" for none.
	OwnerClusterRole string
	// BindAddress serves the API server, HealthAddress the kubelet, MetricsAddress
	// Prometheus; "0" disables the last two.
	BindAddress, HealthAddress, MetricsAddress string
	// Pod is the name of the pod that this process runs in, in Namespace; ""
	// outside of a cluster.
	Pod string
	// InjectionFailurePolicy is the failurePolicy for objects that ask for a
	// template that is not mandatory; the default is Ignore.
	InjectionFailurePolicy admissionregistrationv1.FailurePolicyType
	// ShutdownDelay is how long usher keeps answering requests after readiness
	// fails.
	ShutdownDelay time.Duration
	// MaxConcurrent limits the concurrent decisions; 0 derives it from the CPUs.
	MaxConcurrent int
	// MaxConnections limits the open connections to BindAddress; 0 means
	// serving.DefaultConnections.
	MaxConnections int
	// ClientCAFile contains the CA of the API server's client certificate, which
	// is optional if it is ""; ClientNames are the names that the certificate may
	// have.
	ClientCAFile string
	ClientNames  []string
	// HTTP2 offers HTTP/2 in addition to HTTP/1.1, Profiling serves
	// /debug/pprof/ on HealthAddress.
	HTTP2, Profiling bool
	// Certificates selects the source of the serving certificate.
	Certificates Certificates
	// Tracing configures the destination of traces.
	Tracing tracing.Options
	// Registry collects the metrics; nil means the one that MetricsAddress serves.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// complete sets options that follow from others.
func (o *Options) complete() {
	o.Tracing.Namespace, o.Tracing.Pod = o.Namespace, o.Pod
	o.ConfigurationName = cmp.Or(o.ConfigurationName, wellknown.DefaultConfigurationName)
	o.ProofNamespace = cmp.Or(o.ProofNamespace, cluster.DefaultProofNamespace)
	if o.Registry == nil {
		o.Registry = metrics.Registry
	}
}

// scope is the namespaces that this installation serves.
func (o *Options) scope() (decision.Scope, error) {
	scope := decision.Scope{ReleaseNamespace: o.Namespace}
	if o.NamespaceSelector == nil {
		return scope, nil
	}
	var err error
	if scope.Selector, err = metav1.LabelSelectorAsSelector(o.NamespaceSelector); err != nil {
		return scope, fmt.Errorf("namespace selector: %w", err)
	}
	return scope, nil
}

// target is how the API server reaches this server, with a CA bundle that
// changes.
func target(o Options, bundle func() []byte) func() registration.Target {
	return func() registration.Target {
		return registration.Target{Namespace: o.Namespace, Service: o.Service, Port: 443, URL: o.URL, CABundle: bundle(), Annotations: o.Annotations, NamespaceSelector: o.NamespaceSelector, Timeout: review.Timeout}
	}
}

// listening is where this server listens.
func listening(o Options) serving.Options {
	return serving.Options{
		Address: o.BindAddress, HealthAddress: o.HealthAddress, ClientCAFile: o.ClientCAFile, ClientNames: o.ClientNames,
		HTTP2: o.HTTP2, BodyTimeout: review.Timeout, MaxConnections: o.MaxConnections, Metrics: serving.NewMetrics(o.Registry), Log: o.Log,
	}
}

// hosts returns the names for the serving certificate.
func hosts(o Options) []string {
	service := o.Service + "." + o.Namespace
	names := []string{service + ".svc", service + ".svc.cluster.local", service}
	if u, err := url.Parse(o.URL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	return names
}
