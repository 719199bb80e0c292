// Command usher admits objects into a Kubernetes cluster: it injects sidecars
// into pods that ask for them and refuses workloads that cannot work, as a
// webhook server in the cluster and as a command line on files.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
