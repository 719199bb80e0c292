// Command usher-server is what usher runs in a cluster: the admission webhook,
// the controllers, and the commands of the containers that usher adds to pods or
// starts itself. Its image names it /usher.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func main() {
	os.Exit(cli.Execute(ctrl.SetupSignalHandler(), newRoot(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
