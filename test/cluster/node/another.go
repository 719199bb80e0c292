package node

import (
	"errors"
	"os"
)

// AnotherCluster is the variable with the kubeconfig file of a cluster that
// tests use instead of the machine's node.
const AnotherCluster = "E2E_KUBECONFIG"

// ErrNoMachine is the error of another cluster for what needs the node's
// machine.
var ErrNoMachine = errors.New("this needs the machine of the node, and " + AnotherCluster + " names another cluster")

func another() (kubeconfig string, ok bool) {
	kubeconfig = os.Getenv(AnotherCluster)
	return kubeconfig, kubeconfig != ""
}
