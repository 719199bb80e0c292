// Package usherwebhook starts the webhook server in the process of a test, with a
// control plane. Tests that run built programs do without it, and without what it
// links.
package usherwebhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/webhook"
)

// A Server is a webhook server with a control plane.
type Server struct {
	// URL is its address for the API server, Health the address of /readyz.
	URL, Health string

	configuration string // the name of its webhook configurations
	cancel        context.CancelFunc
	done          chan error
}

// Start creates usher's namespaces, starts the webhook server in this process and
// waits until it is registered. changes modify its options. The caller stops it
// before the control plane.
func Start(ctx context.Context, c *controlplane.ControlPlane, log logr.Logger, changes ...func(*webhook.Options)) (*Server, error) {
	if err := c.OwnNamespace(ctx); err != nil {
		return nil, err
	}
	if out, err := c.Kubectl(ctx, "", "apply", "-k", filepath.Join(controlplane.Root(), "deploy", "base", "proof")); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if err := c.GrantWebhook(ctx); err != nil {
		return nil, err
	}
	return StartReplica(ctx, c, log, changes...)
}

// StartReplica starts a webhook server, whose options may be changed, and waits
// until it is registered.
func StartReplica(ctx context.Context, c *controlplane.ControlPlane, log logr.Logger, changes ...func(*webhook.Options)) (*Server, error) {
	u, err := StartUnregistered(ctx, c, log, changes...)
	if err != nil {
		return nil, err
	}
	if err := c.UntilRegisteredAs(ctx, cmp.Or(u.configuration, wellknown.DefaultConfigurationName), u.URL); err != nil {
		return nil, errors.Join(err, u.Stop())
	}
	return u, nil
}

// StartUnregistered starts a webhook server as usher's ServiceAccount, with
// exactly its rights, and waits until it is ready; it need not hold the Lease.
func StartUnregistered(ctx context.Context, c *controlplane.ControlPlane, log logr.Logger, changes ...func(*webhook.Options)) (*Server, error) {
	address, err := controlplane.FreeAddress()
	if err != nil {
		return nil, err
	}
	u := &Server{URL: "https://" + address, done: make(chan error, 1)}
	if u.Health, err = controlplane.FreeAddress(); err != nil {
		return nil, err
	}
	o := webhook.Options{
		Namespace: controlplane.Namespace, Service: "usher", URL: u.URL, BindAddress: address, HealthAddress: u.Health, MetricsAddress: "0",
		OwnerClusterRole: "usher-webhook", Registry: prometheus.NewRegistry(), Log: log,
	}
	for _, change := range changes {
		change(&o)
	}
	u.configuration = o.ConfigurationName
	config, err := c.AsWebhook(ctx, o.Namespace, o.ProofNamespace)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	u.cancel = cancel
	go func() { u.done <- webhook.Run(running, config, o) }()
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-u.done:
			u.done <- err
			return false, fmt.Errorf("usher ended: %w", err)
		default:
			return u.Ready(ctx), nil
		}
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting until usher is ready: %w", err), u.Stop())
	}
	return u, nil
}

// Ready reports whether /readyz succeeds.
func (u *Server) Ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Health+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// Stop stops the server and returns its error.
func (u *Server) Stop() error {
	u.cancel()
	err := <-u.done
	u.done <- err // for a second call
	return err
}
