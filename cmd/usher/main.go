// Command usher is the command line: it injects sidecars into manifests, judges
// them by usher's rules, and explains what usher decides in a cluster. What runs
// in the cluster is usher-server.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
