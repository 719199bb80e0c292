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
)

func main() {
	limitMemory()
	ctrl.SetLogger(logr.Discard()) // its client logs what errors already say
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
