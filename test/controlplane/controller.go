package controlplane

import (
	"context"
	"os"
	"runtime/pprof"

	"github.com/go-logr/logr"

	"github.com/usher-dev/usher/controllers"
)

// A Controller is a controller process beside a control plane.
type Controller struct {
	cancel context.CancelFunc
	done   chan error
}

// StartController makes usher's namespace and starts the controllers in this
// process, as their ServiceAccount, with its rights and no others. Changes are
// made to the options. The caller stops it before the control plane.
func (c *ControlPlane) StartController(ctx context.Context, log logr.Logger, changes ...func(*controllers.Options)) (*Controller, error) {
	if err := c.ownNamespace(ctx); err != nil {
		return nil, err
	}
	account, err := controllerAccount()
	if err != nil {
		return nil, err
	}
	if err := c.grant(ctx, account); err != nil {
		return nil, err
	}
	config, err := c.as(ctx, account)
	if err != nil {
		return nil, err
	}
	o := controllers.Options{Namespace: Namespace, LeaderElection: true, HealthAddress: "0", MetricsAddress: "0", Repeated: true, Log: log, EtcdBackupEndpoints: TestEtcds()}
	o.Handover.Address, o.Handover.Host = "127.0.0.1:0", "127.0.0.1"
	for _, change := range changes {
		change(&o)
	}
	running, cancel := context.WithCancel(ctx)
	started := &Controller{cancel: cancel, done: make(chan error, 1)}
	go func() { started.done <- controllers.Run(running, config, o) }()
	return started, nil
}

// Stop ends the controllers and returns what they ended with.
func (c *Controller) Stop() error {
	c.cancel()
	err := <-c.done
	c.done <- err // for who asks again
	if err != nil {
		// Where a controller does not end in time, this says what it waits for.
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	}
	return err
}

// TestEtcds are the etcds that tests start as processes, which are not pods of a
// namespace. The controllers of all packages that share an API server see the
// EtcdBackups of all, so each must allow them.
func TestEtcds() []string { return []string{"127.0.0.1"} }
