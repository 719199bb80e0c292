package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/policies/transition"
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
	// Certificates say where the serving certificate comes from.
	Certificates Certificates
	Log          logr.Logger
}

// Run serves until the context ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	m, err := newManager(config, o)
	if err != nil {
		return err
	}
	certificates, err := o.source(m, metrics.Registry)
	if err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	sidecars := &Sidecars{Discovery: discover, Reader: m.GetAPIReader(), Interval: 5 * time.Minute, Log: o.Log}
	counts := NewMetrics(metrics.Registry)
	injection := &Injection{
		Templates: NewTemplates(o.Namespace, m.GetAPIReader(), counts, o.Log), Namespaces: NewNamespaces(m.GetAPIReader()),
		OwnNamespace: o.Namespace, NativeSidecars: sidecars.Available,
	}
	proof := &TemplateProof{Templates: injection.Templates, Namespaces: injection.Namespaces, DryRun: &DryRun{Writer: m.GetClient()}}
	configuration := NewConfiguration(o.Log)
	rules := &Policies{
		Namespaces: injection.Namespaces, Configuration: configuration, Injection: injection, Transitions: transition.Kubernetes(),
		Reader: m.GetAPIReader(), Server: sidecars.Server, Controller: "system:serviceaccount:" + o.Namespace + ":usher-controller",
	}
	handlers := []Handler{
		injection.Pods(), injection.Workloads(m.GetAPIReader()), proof.Handler(),
		(&NamespaceLabels{Templates: injection.Templates, Policies: rules}).Handler(), rules.Handler(),
	}

	ready := make(chan struct{})
	server, err := o.server(certificates)
	if err != nil {
		return err
	}
	for _, h := range handlers {
		server.Register(h.Path, &endpoint{handler: h, ready: ready, metrics: counts, log: o.Log})
	}
	if err := addHealth(m, o, injection.Templates, certificates, server, ready); err != nil {
		return err
	}
	synced, err := feed(ctx, m.GetCache(), injection, configuration)
	if err != nil {
		return err
	}
	start := manager.RunnableFunc(func(ctx context.Context) error {
		if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
			return nil // ended before it began
		}
		if err := sidecars.Update(ctx); err != nil {
			return err
		}
		var once sync.Once
		return certs.Follow(ctx, certificates, func(bundle []byte) error {
			once.Do(func() { close(ready) })
			return register(ctx, m.GetClient(), server, o, bundle, handlers)
		})
	})
	if err := errors.Join(m.Add(server), m.Add(sidecars), m.Add(start)); err != nil {
		return err
	}
	return m.Start(ctx)
}

// newManager limits the caches to what decisions need: the ConfigMaps of
// usher's namespace, and of namespaces the labels.
func newManager(config *rest.Config, o Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme), metav1.AddMetaToScheme(scheme)); err != nil {
		return nil, err
	}
	return manager.New(config, manager.Options{
		Scheme:                 scheme,
		Logger:                 o.Log,
		HealthProbeBindAddress: "0",
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{o.Namespace: {}}, Transform: stripConfigMap},
				&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.Namespace: {
					FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, o.secret().Name),
				}}, Transform: stripSecret},
				partialNamespace(): {Transform: stripNamespace},
			},
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
}

// server is controller-runtime's webhook server on HTTP/1.1, which is what the
// API server speaks to Services.
func (o Options) server(certificates certs.Source) (webhook.Server, error) {
	host, port, err := splitAddress(o.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("bind address %q: %w", o.BindAddress, err)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"}
		c.GetCertificate = certificates.GetCertificate
	}}}), nil
}

func (o Options) hosts() []string {
	service := o.Service + "." + o.Namespace
	hosts := []string{service + ".svc", service + ".svc.cluster.local", service}
	if host := urlHost(o.URL); host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}

// register brings the configuration to the API server once this server
// answers, trying until it does.
func register(ctx context.Context, c client.Client, server webhook.Server, o Options, bundle []byte, handlers []Handler) error {
	target := Target{Namespace: o.Namespace, Service: o.Service, Port: 443, URL: o.URL, CABundle: bundle}
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 10 * time.Second}
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := server.StartedChecker()(nil)
		if err == nil {
			err = errors.Join(Apply(ctx, c, Mutating(target, handlers...)), Apply(ctx, c, Validating(target, handlers...)))
		}
		if err != nil {
			o.Log.Info("not registered yet", "error", err.Error())
			return false, nil
		}
		o.Log.Info("registered", "configuration", ConfigurationName)
		return true, nil
	})
	if ctx.Err() != nil {
		return nil // ended before it was registered
	}
	return err
}

func addHealth(m manager.Manager, o Options, templates *Templates, certificates certs.Source, server webhook.Server, ready <-chan struct{}) error {
	if o.HealthAddress == "0" {
		return nil
	}
	listener, err := net.Listen("tcp", o.HealthAddress)
	if err != nil {
		return fmt.Errorf("health address: %w", err)
	}
	state := func() []string { return append(certificates.State().Lines(), templates.State()...) }
	health := &Health{State: state, Ready: func() error {
		select {
		case <-ready:
			return server.StartedChecker()(nil)
		default:
			return errors.Join(errors.New("the certificate or the caches are not loaded yet"), certificates.State().Err)
		}
	}}
	return m.Add(&manager.Server{
		Name: "health", Listener: listener,
		Server: &http.Server{Handler: health.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute},
	})
}
