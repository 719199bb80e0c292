// Command usher is the command line: it injects sidecars into manifests, checks
// them with usher's rules, and explains usher's decisions in a cluster.
// usher-server is the program that runs in the cluster.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
