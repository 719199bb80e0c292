package main

import (
	"fmt"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/certs"
	"github.com/usher-dev/usher/webhook"
)

func newWebhook(s streams) *cobra.Command {
	var o webhook.Options
	var connect connection
	var logs logging
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Serve admission decisions to the API server",
		Long: `Serve admission decisions to the API server over TLS, and register the
MutatingWebhookConfiguration and the ValidatingWebhookConfiguration "usher"
that send them here.

In a cluster it runs behind a Service. Outside of one, --url tells the API
server where to find it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Certificates.Validate(); err != nil {
				return &exitError{exitUsage, err}
			}
			log, err := logs.logger(s.err)
			if err != nil {
				return err
			}
			ctrl.SetLogger(log)
			config, err := connect.config()
			if err != nil {
				return err
			}
			o.Log = log
			if err := webhook.Run(cmd.Context(), config, o); err != nil {
				return &exitError{exitFindings, fmt.Errorf("serving: %w", err)}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", ownNamespace, "usher's own namespace, which holds the templates and the CA")
	f.StringVar(&o.Service, "service", "usher", "Service that leads here")
	f.StringVar(&o.URL, "url", "", "address of this server, such as https://192.0.2.1:9443, where it runs outside the cluster")
	f.StringVar(&o.BindAddress, "bind-address", ":9443", "address to serve the API server on")
	f.StringVar(&o.HealthAddress, "health-address", ":8081", `address of /healthz and /readyz, "0" for none`)
	f.StringVar(&o.MetricsAddress, "metrics-address", ":8080", `address of /metrics, "0" for none`)
	lifetimes := certs.DefaultLifetimes()
	f.StringVar(&o.Certificates.From, "certificates", webhook.CertificatesSelfSigned, "where the serving certificate comes from: self-signed, cert-manager or files")
	f.StringVar(&o.Certificates.Dir, "certificates-dir", "", "folder of tls.crt, tls.key and ca.crt for --certificates=files")
	f.DurationVar(&o.Certificates.Lifetimes.CA, "ca-lifetime", lifetimes.CA, "lifetime of the CA; it is changed after two thirds")
	f.DurationVar(&o.Certificates.Lifetimes.Serving, "certificate-lifetime", lifetimes.Serving, "lifetime of the serving certificate; it is renewed after two thirds")
	f.DurationVar(&o.Certificates.Lifetimes.Overlap, "ca-overlap", lifetimes.Overlap, "how long a new CA is registered before it is served from, and the old one after")
	connect.register(f)
	logs.register(f)
	return cmd
}
