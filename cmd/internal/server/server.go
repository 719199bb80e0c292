// Package server contains the common parts of the two programs that serve a
// cluster, the webhook and the controller.
package server

import (
	"context"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/cmd/internal/buildinfo"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// Main runs a program's command until it returns or a signal ends it, and then
// exits.
func Main(root *cobra.Command) {
	root.Version = buildinfo.Line()
	root.SetVersionTemplate("{{.Version}}\n")
	os.Exit(cli.Execute(ctrl.SetupSignalHandler(), root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Start prepares what a server does after it has parsed its flags: it installs
// the log, exports the version, and waits for the API server. ready is false if
// a signal ended the wait.
func Start(ctx context.Context, component, healthAddress string, config *rest.Config, log logr.Logger) (ready bool, err error) {
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	registerBuildInfo(component)
	err = await(ctx, config, healthAddress, log)
	return err == nil && ctx.Err() == nil, err
}
