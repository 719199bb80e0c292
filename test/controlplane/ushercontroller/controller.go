// Package ushercontroller starts the controllers in the process of a test, with a
// control plane.
package ushercontroller

import (
	"context"
	"os"
	"runtime/pprof"

	"github.com/go-logr/logr"

	"github.com/usher-dev/usher/controllers"
	"github.com/usher-dev/usher/test/controlplane"
)

// A Controller is a controller process with a control plane.
type Controller struct {
	cancel context.CancelFunc
	done   chan error
}

// Start creates usher's namespace and starts the controllers in this
// process, as their ServiceAccount, with exactly the rights of those controllers.
// changes modify the options. The caller stops it before the control plane.
func Start(ctx context.Context, c *controlplane.ControlPlane, log logr.Logger, changes ...func(*controllers.Options)) (*Controller, error) {
	o := controllers.Options{Namespace: controlplane.Namespace, LeaderElection: true, HealthAddress: "0", MetricsAddress: "0", Repeated: true, Log: log, EtcdBackupEndpoints: controlplane.TestEtcds(), StoreEndpoints: controlplane.TestStores()}
	o.PodServer.Address, o.PodServer.Host = "127.0.0.1:0", "127.0.0.1"
	for _, change := range changes {
		change(&o)
	}
	if err := c.OwnNamespace(ctx); err != nil {
		return nil, err
	}
	if err := c.GrantController(ctx, o.Controllers...); err != nil {
		return nil, err
	}
	config, err := c.AsController(ctx, o.Controllers...)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	started := &Controller{cancel: cancel, done: make(chan error, 1)}
	go func() { started.done <- controllers.Run(running, config, o) }()
	return started, nil
}

// Stop stops the controllers and returns their error.
func (c *Controller) Stop() error {
	c.cancel()
	err := <-c.done
	c.done <- err // for a second call
	if err != nil {
		// If a controller does not end in time, this shows what it waits for.
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	}
	return err
}
