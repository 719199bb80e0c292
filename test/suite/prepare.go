package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/usher-dev/usher/test/binaries"
	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/controlplane"
)

// prepare builds the programs for tests, so that no test waits for it, and
// starts the API server that packages share. It returns the variables for
// tests.
func prepare(ctx context.Context, progress io.Writer) (environment []string, stop func(), err error) {
	assets, err := controlplane.Assets(progress, "etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
	if err != nil {
		return nil, nil, err
	}
	if _, err := components.Ensure(ctx, progress, "etcd-3.6", "etcd-3.7", "etcdutl-3.6", "etcdutl-3.7", "versitygw"); err != nil {
		return nil, nil, err
	}
	if err := os.Setenv("KUBEBUILDER_ASSETS", assets); err != nil {
		return nil, nil, err
	}
	plane, err := controlplane.Shared(progress)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "usher-suite-")
	if err != nil {
		return nil, nil, errors.Join(err, plane.Stop())
	}
	stop = func() {
		if err := errors.Join(plane.Stop(), os.RemoveAll(folder)); err != nil {
			fmt.Fprintln(progress, "stopping the shared API server:", err)
		}
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, plane.Kubeconfig, 0o600); err != nil {
		stop()
		return nil, nil, err
	}
	return []string{"KUBEBUILDER_ASSETS=" + assets, controlplane.SharedVariable + "=" + kubeconfig, binaries.FolderVariable + "=" + folder}, stop, nil
}
