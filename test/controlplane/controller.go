package controlplane

import (
	"context"
	"os"
	"runtime/pprof"

	"github.com/go-logr/logr"

	"github.com/usher-dev/usher/controllers"
)

// A Controller is a controller process with a control plane.
type Controller struct {
	cancel context.CancelFunc
	done   chan error
}

// StartController creates usher's namespace and starts the controllers in this
// process, as their ServiceAccount, with exactly the rights of those controllers.
// changes modify the options. The caller stops it before the control plane.
func (c *ControlPlane) StartController(ctx context.Context, log logr.Logger, changes ...func(*controllers.Options)) (*Controller, error) {
	o := controllers.Options{Namespace: Namespace, LeaderElection: true, HealthAddress: "0", MetricsAddress: "0", Repeated: true, Log: log, EtcdBackupEndpoints: TestEtcds(), StoreEndpoints: TestStores()}
	o.PodServer.Address, o.PodServer.Host = "127.0.0.1:0", "127.0.0.1"
	for _, change := range changes {
		change(&o)
	}
	if err := c.ownNamespace(ctx); err != nil {
		return nil, err
	}
	account := controllerAccount(o.Controllers...)
	if err := c.grant(ctx, account); err != nil {
		return nil, err
	}
	config, err := c.as(ctx, account)
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

// TestEtcds are the etcds that tests start as processes, which are not pods in
// a namespace. The controllers of all packages that share an API server see all
// EtcdBackups, so each must allow them.
func TestEtcds() []string { return []string{"127.0.0.1"} }

// TestStores are the object stores that tests start as processes.
func TestStores() []string { return []string{"127.0.0.1:*"} }
