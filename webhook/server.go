package webhook

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/policies/transition"
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
	// BindAddress serves the API server, HealthAddress the kubelet,
	// MetricsAddress Prometheus; "0" turns the last two off.
	BindAddress, HealthAddress, MetricsAddress string
	// Pod is the pod this runs in, in Namespace; "" outside of a cluster.
	Pod string
	// InjectionFailurePolicy is what happens to who asks for a template that is
	// not mandatory while usher does not answer: Ignore where it is "".
	InjectionFailurePolicy admissionregistrationv1.FailurePolicyType
	// ShutdownDelay is how long requests are still answered after readiness fell.
	ShutdownDelay time.Duration
	// MaxConcurrent bounds the decisions at once; 0 derives it from the CPUs.
	MaxConcurrent int
	// ClientCAFile holds the CA of the API server's client certificate, which is
	// not asked for where it is ""; ClientNames are the names it may have.
	ClientCAFile string
	ClientNames  []string
	// HTTP2 offers HTTP/2 besides HTTP/1.1, Profiling serves /debug/pprof/ on
	// HealthAddress.
	HTTP2, Profiling bool
	// Certificates say where the serving certificate comes from.
	Certificates Certificates
	// Tracing says where spans of requests go.
	Tracing tracing.Options
	// Registry takes the metrics: the one that MetricsAddress serves where nil.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Run serves until the context ends, and then until it is drained.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	o.Tracing.Namespace, o.Tracing.Pod = o.Namespace, o.Pod
	tracer, err := tracing.New(o.Tracing, o.Log)
	if err != nil {
		return err
	}
	defer tracer.Stop()
	config = rest.CopyConfig(config)
	config.Wrap(tracer.Transport)
	m, err := newManager(config, o)
	if err != nil {
		return err
	}
	if o.Registry == nil {
		o.Registry = metrics.Registry
	}
	election, err := o.election(m)
	if err != nil {
		return err
	}
	certificates, err := o.source(m, o.Registry, election.Leads)
	if err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	sidecars := &Sidecars{Discovery: discover, Reader: m.GetAPIReader(), Interval: 5 * time.Minute, Log: o.Log}
	counts := NewMetrics(o.Registry)
	injection := &Injection{
		Templates: NewTemplates(o.Namespace, m.GetAPIReader(), counts, o.Log), Namespaces: NewNamespaces(m.GetAPIReader()),
		OwnNamespace: o.Namespace, NativeSidecars: sidecars.Available, FailurePolicy: o.InjectionFailurePolicy,
	}
	proof := &TemplateProof{Templates: injection.Templates, Namespaces: injection.Namespaces, DryRun: &DryRun{Writer: m.GetClient()}}
	configuration := NewConfiguration(o.Log)
	rules := &Policies{
		Namespaces: injection.Namespaces, Configuration: configuration, Injection: injection, Transitions: transition.All(),
		Mapper: m.GetRESTMapper(), Reader: m.GetAPIReader(), Server: sidecars.Server, Controller: "system:serviceaccount:" + o.Namespace + ":usher-controller",
	}
	networks := &Networks{Reader: m.GetAPIReader(), Namespaces: injection.Namespaces, Configuration: configuration, OwnNamespace: o.Namespace}
	handlers := func() []Handler {
		return []Handler{
			injection.Pods(), injection.Workloads(m.GetAPIReader()), networks.Pods(), networks.Workloads(), proof.Handler(),
			(&NamespaceLabels{Templates: injection.Templates, Policies: rules}).Handler(), rules.Handler(),
		}
	}
	registration, err := o.registration(m, election, certificates.Bundle, handlers)
	if err != nil {
		return err
	}
	injection.Templates.Changed, injection.Namespaces.Changed, configuration.Changed = registration.Changed, registration.Changed, registration.Changed

	serving, stop, drain := drained(ctx, o.ShutdownDelay)
	defer stop()
	ready, limit, mux := make(chan struct{}), newLimit(o.MaxConcurrent), http.NewServeMux()
	for _, h := range handlers() {
		e := &endpoint{handler: h, ready: ready, limit: limit, metrics: counts, log: o.Log}
		mux.Handle(h.Path, measure(counts, h.Path, tracer.Handler(h.Path, e)))
	}
	synced, err := feed(ctx, m.GetCache(), injection, configuration)
	if err != nil {
		return err
	}
	start := manager.RunnableFunc(func(running context.Context) error {
		running, stop := both(running, ctx)
		defer stop()
		if !toolscache.WaitForCacheSync(running.Done(), synced...) {
			return nil // ended before it began
		}
		if err := sidecars.Update(running); err != nil {
			return err
		}
		var first sync.Once
		var group errgroup.Group
		group.Go(func() error {
			rules.Beside.Follow(running, m.GetCache(), o.Log)
			return nil
		})
		group.Go(func() error {
			return certs.Follow(running, certificates, func([]byte) error {
				first.Do(func() { close(ready) })
				registration.Changed()
				return nil
			})
		})
		group.Go(func() error {
			if o.Certificates.issued() {
				return registration.Start(running, ready)
			}
			select {
			case <-running.Done():
				return nil
			case <-ready: // who cannot serve leaves the Lease to others
				return registration.Start(running, ready)
			}
		})
		return group.Wait()
	})
	if err := errors.Join(m.Add(sidecars), m.Add(start)); err != nil {
		return err
	}
	if err := addServers(m, o, certificates.GetCertificate, drain.handler(mux), &Health{
		State: func() []string { return append(certificates.State().Lines(), injection.Templates.State()...) }, Ready: readiness(ready, drain), Profiling: o.Profiling,
	}); err != nil {
		return err
	}
	return m.Start(serving)
}

// newManager limits the caches to what decisions need: the ConfigMaps of
// usher's namespace, of namespaces the labels, and of workloads those of their
// pods.
func newManager(config *rest.Config, o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), batchv1.AddToScheme(scheme), autoscalingv2.AddToScheme(scheme), samplecrdv1.AddToScheme(scheme),
		admissionregistrationv1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	kept := map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}, Transform: stripConfigMap},
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Namespace: {
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, o.secret().Name),
		}}, Transform: stripSecret},
		partialNamespace(): {Transform: stripNamespace},
	}
	for _, object := range besideKinds() {
		kept[object] = cache.ByObject{Transform: strip}
	}
	return manager.New(config, manager.Options{
		Scheme:                 scheme,
		Logger:                 o.Log,
		HealthProbeBindAddress: "0",
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         kept,
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
}

func (o Options) hosts() []string {
	service := o.Service + "." + o.Namespace
	hosts := []string{service + ".svc", service + ".svc.cluster.local", service}
	if host := urlHost(o.URL); host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}
