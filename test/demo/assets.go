package main

import (
	"context"
	"fmt"
	"os"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/download"
)

const assets = "KUBEBUILDER_ASSETS"

// choosePrograms sets the folder of the control plane's programs: the one of
// KUBEBUILDER_ASSETS, programs that were built or downloaded before, or a download.
// Where none is, they are built.
func (s *stage) choosePrograms(ctx context.Context) error {
	if os.Getenv(assets) != "" {
		return nil
	}
	folder, err := components.Built("etcd", "kube-apiserver", "kubectl")
	if err != nil {
		return err
	}
	if folder == "" {
		folder = download.Kept()
	}
	if folder == "" && os.Getenv(download.Offline) == "" {
		s.say("Downloading etcd and kube-apiserver " + download.Version + " (" + download.Offline + "=1 builds them from Go modules instead)")
		if folder, err = download.Programs(ctx); err != nil {
			fmt.Println("not downloaded:", err)
		}
	}
	if folder == "" {
		s.say("Building etcd and kube-apiserver from Go modules, which takes some minutes the first time")
		return nil
	}
	return os.Setenv(assets, folder)
}
