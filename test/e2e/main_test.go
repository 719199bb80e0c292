//go:build e2e

// Package e2e_test plays usher's stories on a cluster whose pods run: the
// machine's node, or the cluster that E2E_KUBECONFIG names.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

const appImage = "node.local/app:e2e"

// envoyImages are the names by which templates know Envoy. On the node they
// are Caddy: see test/cluster/components/proxy.
var envoyImages = []string{
	"docker.io/lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1", // the seed's
	"docker.io/envoyproxy/envoy:v1.36.2",                            // envoy-takeover's
}

// cluster is the node with usher installed.
type cluster struct {
	*kubernetes.Clientset
	node  *node.Node
	usher *usher.Installation
}

var shared *cluster

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		status = 1
	}
	os.Exit(status)
}

func run(ctx context.Context, m *testing.M) (status int, err error) {
	n, err := node.Start(ctx, os.Stderr)
	if err != nil {
		return 1, err
	}
	var ends []func() error
	ends = append(ends, n.Release)
	defer func() {
		for _, end := range slices.Backward(ends) {
			if failed := end(); err == nil {
				err = failed
			}
		}
	}()
	shared = &cluster{node: n}
	if shared.Clientset, err = kubernetes.NewForConfig(n.Config); err != nil {
		return 1, err
	}
	if err := shared.loadImages(ctx); err != nil {
		return 1, err
	}
	if shared.usher, err = usher.Install(ctx, n); err != nil {
		n.Dump(ctx, os.Stderr, usher.Namespace)
		return 1, err
	}
	ends = append(ends, func() error { return shared.usher.Uninstall(context.WithoutCancel(ctx)) })
	return m.Run(), nil
}

// loadImages loads what runs in the pods.
func (c *cluster) loadImages(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "usher-e2e-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	root, err := node.Root()
	if err != nil {
		return err
	}
	app, err := node.Compile(ctx, root, "./test/e2e/app", folder)
	if err != nil {
		return err
	}
	if err := c.node.Load(ctx, node.Image{Name: appImage, Binaries: []string{app}}); err != nil {
		return err
	}
	programs, err := components.Ensure(ctx, os.Stderr, "proxy")
	if err != nil {
		return err
	}
	for _, name := range envoyImages {
		envoy := node.Image{Name: name, Binaries: []string{filepath.Join(programs, "proxy") + ":/usr/local/bin/envoy"}}
		if err := c.node.Load(ctx, envoy); err != nil {
			return err
		}
	}
	return nil
}
