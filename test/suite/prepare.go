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

// builtPrograms is where tests find usher's own programs. It outlives a run: what is
// up to date is not linked again.
const builtPrograms = "bin/test"

// prepare builds what tests run, so that no test waits for it, and starts the
// API server that packages share. It returns the variables that tell tests.
func prepare(ctx context.Context, progress io.Writer) (environment []string, stop func(), err error) {
	assets, err := controlplane.Assets(progress, "etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
	if err != nil {
		return nil, nil, err
	}
	if _, err := components.Ensure(ctx, progress, "etcd-3.5", "etcd-3.6", "etcd-3.7", "etcdutl-3.6", "etcdutl-3.7", "versitygw"); err != nil {
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
	programs, err := filepath.Abs(builtPrograms)
	if err == nil {
		err = os.MkdirAll(programs, 0o755)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return []string{"KUBEBUILDER_ASSETS=" + assets, controlplane.SharedVariable + "=" + kubeconfig, binaries.FolderVariable + "=" + programs}, stop, nil
}
