package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/webhook"
)

func newWebhook() *cobra.Command {
	var o webhook.Options
	var policy string
	var connect cli.Connection
	var logs logging
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Serve admission decisions to the API server",
		Long: `Serve admission decisions to the API server over TLS, and keep the webhook
configurations "usher", which say what is sent.

In a cluster it runs behind a Service, in any number of replicas; the one that
holds the Lease "usher-registration" registers. Outside of one, --url tells the
API server where to find it.

On SIGTERM or SIGINT readiness falls, requests are answered for
--shutdown-delay, and then until none is left. Set GOMEMLIMIT to about nine
tenths of the memory limit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.Certificates.Validate(), o.Tracing.Validate()); err != nil {
				return cli.Exit(cli.Usage, err)
			}
			log, err := logs.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			ctrl.SetLogger(log)
			klog.SetLogger(log)
			if err := failurePolicy(policy); err != nil {
				return err
			}
			o.InjectionFailurePolicy = admissionregistrationv1.FailurePolicyType(policy)
			config, err := connect.Config()
			if err != nil {
				return err
			}
			o.Log, o.Tracing.Version = log, cli.Version()
			tellVersion("webhook")
			if err := await(cmd.Context(), config, o.HealthAddress, log); err != nil || cmd.Context().Err() != nil {
				return err
			}
			if err := webhook.Run(cmd.Context(), config, o); err != nil {
				return cli.Exit(cli.Failed, fmt.Errorf("serving: %w", err))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", cli.Namespace, "usher's own namespace, which holds the templates and the CA")
	f.StringVar(&o.Service, "service", "usher", "Service that leads here")
	f.StringVar(&o.URL, "url", "", "address of this server, such as https://192.0.2.1:9443, where it runs outside the cluster")
	f.StringToStringVar(&o.Annotations, "registration-annotations", nil, "annotations of the webhook configurations, such as example.com/key=value")
	f.StringVar(&o.Pod, "pod-name", os.Getenv("POD_NAME"), "pod this runs in (default $POD_NAME); a pod that is not of its Deployment's newest ReplicaSet does not register")
	f.StringVar(&o.BindAddress, "bind-address", ":9443", "address to serve the API server on")
	f.StringVar(&o.HealthAddress, "health-address", ":8081", `address of /healthz and /readyz, "0" for none`)
	f.StringVar(&o.MetricsAddress, "metrics-address", ":8080", `address of /metrics, "0" for none`)
	f.StringVar(&policy, "injection-failure-policy", "Ignore", "Ignore or Fail: whether who asks for a template is admitted without it, or not at all, while usher does not answer; mandatory templates are always Fail")
	f.DurationVar(&o.ShutdownDelay, "shutdown-delay", 5*time.Second, "time to answer requests for after readiness fell")
	f.IntVar(&o.MaxConcurrent, "max-concurrent", 0, "decisions made at once, more are answered 429 (default 64 for each CPU, at least 128)")
	f.StringVar(&o.ClientCAFile, "client-ca-file", "", "CA of the API server's client certificate, which is required then")
	f.StringSliceVar(&o.ClientNames, "client-names", nil, "common names or DNS names that certificate may have (default any)")
	f.BoolVar(&o.HTTP2, "http2", false, "offer HTTP/2, too; the API server speaks HTTP/1.1 to Services")
	f.BoolVar(&o.Profiling, "profiling", false, "serve /debug/pprof/ on the health address")
	lifetimes := certs.DefaultLifetimes()
	f.StringVar(&o.Certificates.From, "certificates", webhook.CertificatesSelfSigned, "where the serving certificate comes from: self-signed, cert-manager or files")
	f.StringVar(&o.Certificates.Dir, "certificates-dir", "", "folder of tls.crt, tls.key and ca.crt for --certificates=files")
	f.DurationVar(&o.Certificates.Lifetimes.CA, "ca-lifetime", lifetimes.CA, "lifetime of the CA; it is changed after two thirds")
	f.DurationVar(&o.Certificates.Lifetimes.Serving, "certificate-lifetime", lifetimes.Serving, "lifetime of the serving certificate; it is renewed after two thirds")
	f.DurationVar(&o.Certificates.Lifetimes.Overlap, "ca-overlap", lifetimes.Overlap, "how long a new CA is registered before it is served from, and the old one after")
	f.StringVar(&o.Tracing.Endpoint, "otlp-endpoint", "", "URL of an OpenTelemetry receiver over HTTP that gets traces, such as http://otel-collector.observability:4318")
	f.Float64Var(&o.Tracing.Sampling, "trace-sampling", 0.01, "share of requests to trace, from 0 to 1; where the API server traces its request or says that it does not, usher does the same")
	connect.Register(f)
	logs.register(f)
	return cmd
}

func failurePolicy(value string) error {
	switch admissionregistrationv1.FailurePolicyType(value) {
	case admissionregistrationv1.Ignore, admissionregistrationv1.Fail:
		return nil
	}
	return fmt.Errorf("--injection-failure-policy is %q; write Ignore or Fail", value)
}
