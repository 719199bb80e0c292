// Command usher is the command line: it injects sidecars into manifests, checks
// them with usher's rules, and explains usher's decisions in a cluster.
// usher-webhook and usher-controller are the programs that run in the cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/cli/render"
)

// renderUnits is the process that renders charts and kustomizations for usher check.
func renderUnits() int {
	if render.Work(os.Stdin, os.Stdout) != nil {
		return 1 // the process that asked reports it
	}
	return 0
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == render.WorkerCommand {
		os.Exit(renderUnits())
	}
	limitMemory()
	ctrl.SetLogger(logr.Discard()) // its client logs what errors already say
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
