package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/cmd/internal/buildinfo"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/cmd/internal/publicca"
	"github.com/usher-dev/usher/cmd/internal/server"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook"
	"github.com/usher-dev/usher/webhook/serving"
)

func newCommand() *cobra.Command {
	var o webhook.Options
	var policy, selector string
	var connect cli.Connection
	var logs server.Logging
	cmd := &cobra.Command{
		Use:   "usher-webhook",
		Short: "Serve admission decisions to the API server",
		Long: `Serve admission decisions to the API server over TLS, and keep the webhook
configurations "usher", which select the requests, up to date.

In a cluster it runs behind a Service with any number of replicas; the one that
holds the Lease "usher-registration" registers. Outside of a cluster, --url tells
the API server where to find it.

On SIGTERM or SIGINT readiness fails, and usher answers requests for
--shutdown-delay and then until none is left. Set GOMEMLIMIT to the memory limit
less 43 MiB for the pages of the program.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.Certificates.Validate(), o.Tracing.Validate()); err != nil {
				return cli.Exit(cli.Usage, err)
			}
			log, err := logs.Logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := failurePolicy(policy); err != nil {
				return err
			}
			if selector != "" {
				if o.NamespaceSelector, err = metav1.ParseToLabelSelector(selector); err != nil {
					return cli.Exit(cli.Usage, fmt.Errorf("--namespace-selector is %q: %w; write label requirements, such as team=a,tier in (web)", selector, err))
				}
			}
			o.InjectionFailurePolicy = admissionregistrationv1.FailurePolicyType(policy)
			config, err := connect.Config()
			if err != nil {
				return err
			}
			o.Log, o.Tracing.Version = log, buildinfo.Version()
			if needsPublicCAs(config, o.Tracing.Endpoint) {
				publicca.Trust()
			}
			if ready, err := server.Start(cmd.Context(), "webhook", o.HealthAddress, config, log); !ready {
				return err
			}
			if err := webhook.Run(cmd.Context(), config, o); err != nil {
				return cli.Exit(cli.Failed, fmt.Errorf("serving: %w", err))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", cli.Namespace, "usher's own namespace, which contains the templates and the CA")
	f.StringVar(&o.Service, "service", "usher", "Service of the webhook")
	f.StringVar(&o.URL, "url", "", "URL of this server, such as https://192.0.2.1:9443, if it runs outside the cluster")
	f.StringVar(&o.ConfigurationName, "configuration-name", wellknown.DefaultConfigurationName, "name of the webhook configurations; each installation in a cluster needs another one")
	f.StringVar(&selector, "namespace-selector", "", "labels of the namespaces that this installation serves, such as team=a or team!=a (default: all namespaces)")
	f.StringVar(&o.ProofNamespace, "proof-namespace", cluster.DefaultProofNamespace, "namespace for the dry runs that test templates")
	f.StringToStringVar(&o.Annotations, "registration-annotations", nil, "annotations of the webhook configurations, such as example.com/key=value")
	f.StringVar(&o.OwnerClusterRole, "owner-cluster-role", "", "ClusterRole that owns the webhook configurations: Kubernetes deletes them along with it, and usher registers only while it exists (default: none)")
	f.StringVar(&o.Pod, "pod-name", os.Getenv("POD_NAME"), "pod that this process runs in (default: $POD_NAME); only a pod of its Deployment's newest ReplicaSet registers")
	f.StringVar(&o.BindAddress, "bind-address", ":9443", "address to serve the API server on")
	f.StringVar(&o.HealthAddress, "health-address", ":8081", `address of /healthz and /readyz, "0" for none`)
	f.StringVar(&o.MetricsAddress, "metrics-address", ":8080", `address of /metrics, "0" for none`)
	f.StringVar(&policy, "injection-failure-policy", "Ignore", "failurePolicy of injection: Ignore (pods start without the sidecar) or Fail (pods are rejected) while usher is unreachable; mandatory templates always use Fail")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 5*time.Second, "how long to keep answering requests after readiness fails")
	f.IntVar(&o.MaxConcurrent, "max-concurrent", 0, "concurrent decisions; further requests get status 429 (default: 64 for each CPU, at least 128)")
	f.IntVar(&o.MaxConnections, "max-connections", serving.DefaultConnections, "open connections to the API server's port; each one beyond closes the one that has been idle for the longest time")
	f.StringVar(&o.ClientCAFile, "client-ca-file", "", "file with the CA of the API server's client certificate, which is then required")
	f.StringSliceVar(&o.ClientNames, "client-names", nil, "common names or DNS names that this certificate may have (default: any)")
	f.BoolVar(&o.HTTP2, "http2", false, "also offer HTTP/2; the API server uses HTTP/1.1 for Services")
	f.BoolVar(&o.Profiling, "profiling", false, "serve /debug/pprof/ on the health address")
	lifetimes := certs.DefaultLifetimes()
	f.StringVar(&o.Certificates.From, "certificates", webhook.CertificatesSelfSigned, "source of the serving certificate: self-signed, cert-manager or files")
	f.StringVar(&o.Certificates.Dir, "certificates-dir", "", "folder with tls.crt, tls.key and ca.crt for --certificates=files")
	f.DurationVar(&o.Certificates.Lifetimes.CA, "ca-lifetime", lifetimes.CA, "lifetime of the CA, which is replaced after two thirds of it")
	f.DurationVar(&o.Certificates.Lifetimes.Serving, "certificate-lifetime", lifetimes.Serving, "lifetime of the serving certificate, which is renewed after two thirds of it")
	f.DurationVar(&o.Certificates.Lifetimes.Overlap, "ca-overlap", lifetimes.Overlap, "how long to register a new CA before serving with it, and the old one afterwards")
	f.StringVar(&o.Tracing.Endpoint, "otlp-endpoint", "", "URL of the OpenTelemetry receiver (OTLP over HTTP) for traces, such as http://otel-collector.observability:4318")
	f.Float64Var(&o.Tracing.Sampling, "trace-sampling", 0.01, "share of requests to trace, from 0 to 1; usher follows the API server's own decision if a request carries one")
	connect.Register(f)
	logs.Register(f)
	return cmd
}

// needsPublicCAs reports whether the webhook may connect to a server whose CA is
// not configured: the API server or the receiver of traces.
func needsPublicCAs(config *rest.Config, receiver string) bool {
	hasCA := config.Insecure || config.CAFile != "" || len(config.CAData) > 0
	return !hasCA || receiver != ""
}

func failurePolicy(value string) error {
	switch admissionregistrationv1.FailurePolicyType(value) {
	case admissionregistrationv1.Ignore, admissionregistrationv1.Fail:
		return nil
	}
	return fmt.Errorf("--injection-failure-policy is %q; write Ignore or Fail", value)
}
