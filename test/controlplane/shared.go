package controlplane

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// SharedVariable names the environment variable with the kubeconfig file of an
// API server that the tests of several packages share.
const SharedVariable = "USHER_TEST_KUBECONFIG"

// Shared connects to the API server that SharedVariable names, or starts one if
// it is not set. It serves usher's custom resources and those of Multus. Tests
// may share it if they only use namespaces of their own, register no webhooks
// and run no controllers that another package runs.
func Shared(progress io.Writer) (*ControlPlane, error) {
	file := os.Getenv(SharedVariable)
	if file == "" {
		return Start(progress, filepath.Join(Root(), "deploy", "base", "crds"), filepath.Join(Root(), "controllers", "network", "multus", "testdata"))
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig that %s names: %w", SharedVariable, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s, which %s names: %w", file, SharedVariable, err)
	}
	config.QPS, config.Burst = 1000, 2000 // as in envtest
	assets, err := Assets(progress, programs...)
	if err != nil {
		return nil, err
	}
	return &ControlPlane{Config: config, Kubeconfig: content, Assets: assets}, nil
}
