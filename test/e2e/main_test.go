//go:build e2e

// Package e2e_test plays usher's stories on a cluster whose pods run: the
// machine's node, or the cluster that E2E_KUBECONFIG names.
package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

// envoyImages are the names by which templates know Envoy. On the node they
// are Caddy: see test/cluster/components/proxy.
var envoyImages = []string{
	"docker.io/lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1", // the seed's
	"docker.io/envoyproxy/envoy:v1.36.2",                            // envoy-takeover's
}

// shipperImage is the template logs' name of its shipper. On the node it is a
// program of the tests: see app/log.go.
const shipperImage = "docker.io/fluent/fluent-bit:4.2.0"

// cluster is the node with usher installed.
type cluster struct {
	*kubernetes.Clientset
	node  *node.Node
	usher *usher.Installation
}

var shared *cluster

func TestMain(m *testing.M) {
	usher.Stories{Run: m.Run, Prepare: loadImages, Begin: func(_ context.Context, n *node.Node, installed *usher.Installation) (func() error, error) {
		clientset, err := kubernetes.NewForConfig(n.Config)
		shared = &cluster{Clientset: clientset, node: n, usher: installed}
		return nil, err
	}}.Main()
}

// loadImages loads the images of the pods.
func loadImages(ctx context.Context, n *node.Node) error {
	if err := usher.LoadApp(ctx, n, shipperImage); err != nil {
		return err
	}
	programs, err := components.Ensure(ctx, os.Stderr, "proxy")
	if err != nil {
		return err
	}
	for _, name := range envoyImages {
		envoy := node.Image{Name: name, Binaries: []string{filepath.Join(programs, "proxy") + ":/usr/local/bin/envoy"}}
		if err := n.Load(ctx, envoy); err != nil {
			return err
		}
	}
	return nil
}
