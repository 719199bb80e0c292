package certs_test

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/controlplane"
)

// cluster connects to a real kube-apiserver.
var cluster *rest.Config

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	plane, err := controlplane.Shared(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	cluster = plane.Config
	return m.Run()
}
