// Package controlplane starts a real etcd and kube-apiserver for tests and for
// the demo, from the programs that test/cluster/components builds.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/usher-dev/usher/test/cluster/components"
)

// A ControlPlane is a running etcd and kube-apiserver.
type ControlPlane struct {
	// Config connects as a cluster administrator.
	Config *rest.Config
	// Kubeconfig is the same as the content of a kubeconfig file.
	Kubeconfig []byte
	// Assets is the folder of the programs, kubectl among them.
	Assets string

	env *envtest.Environment
}

// Start starts a control plane; the caller stops it. Progress of a first build
// is written to progress. crds names folders or files of
// CustomResourceDefinitions to install.
func Start(progress io.Writer, crds ...string) (*ControlPlane, error) {
	return StartWithFlags(progress, nil, crds...)
}

// StartWithFlags is Start with flags for kube-apiserver, named without dashes.
func StartWithFlags(progress io.Writer, flags map[string]string, crds ...string) (*ControlPlane, error) {
	assets, err := Assets(progress, "etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     crds,
		ErrorIfCRDPathMissing: true,
	}
	for name, value := range flags {
		env.ControlPlane.GetAPIServer().Configure().Set(name, value)
	}
	cfg, err := env.Start()
	if err != nil {
		// What was started before the failure would outlive this process.
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	return &ControlPlane{Config: cfg, Kubeconfig: env.KubeConfig, Assets: assets, env: env}, nil
}

// Stop ends both programs and removes their data.
func (c *ControlPlane) Stop() error {
	return c.env.Stop()
}

// Assets returns the folder of the control plane's programs: KUBEBUILDER_ASSETS
// as it is where set, else what test/cluster/components builds and keeps.
func Assets(progress io.Writer, names ...string) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return dir, nil
	}
	return components.Ensure(context.Background(), progress, names...)
}
