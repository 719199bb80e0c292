// Command usher-server is the part of usher that runs in a cluster: the
// admission webhook, the controllers, and the commands of the containers that
// usher adds to pods or starts itself. Its path in the image is /usher.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func main() {
	os.Exit(cli.Execute(ctrl.SetupSignalHandler(), newRoot(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
