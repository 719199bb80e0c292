//go:build soak

// Package upgrade_test upgrades usher on a node from the previous release, and
// rolls the upgrade back, in each way of installing it and under load.
package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
	"github.com/usher-dev/usher/test/previous"
)

const (
	repository = "node.local/usher"
	before     = "previous" // the tag of the previous release
	after      = "current"
)

// A cluster is the node with the images of both releases.
type cluster struct {
	*kubernetes.Clientset
	node *node.Node
	// root and earlier are the folders of this release and of the previous one.
	root, earlier string
}

var shared *cluster

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func run(ctx context.Context, m *testing.M) (status int, err error) {
	folder, err := os.MkdirTemp("", "usher-upgrade-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c := &cluster{}
	if c.root, err = node.Root(); err != nil {
		return 1, err
	}
	if c.earlier, err = previous.Source(ctx, folder); err != nil {
		return 1, err
	}
	earlier, err := node.Compile(ctx, c.earlier, "./cmd/usher", folder)
	if err != nil {
		return 1, err
	}
	current, _, err := usher.Binaries(ctx, c.root, folder)
	if err != nil {
		return 1, err
	}
	if c.node, err = node.Start(ctx, os.Stderr); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, c.node.Release()) }()
	if !c.node.Owned() {
		return 1, fmt.Errorf("the test removes any usher that it finds, so it needs a node of its own: unset %s", node.AnotherCluster)
	}
	for tag, programs := range map[string][]string{before: {earlier + ":/usher"}, after: current} {
		if err := c.node.Load(ctx, node.Image{Name: repository + ":" + tag, Binaries: programs}); err != nil {
			return 1, err
		}
	}
	config := rest.CopyConfig(c.node.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if c.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return 1, err
	}
	shared = c
	return m.Run(), nil
}

// deploy returns the path of a file in deploy of one of the releases.
func (c *cluster) deploy(tag string, path ...string) string {
	root := c.root
	if tag == before {
		root = c.earlier
	}
	return filepath.Join(append([]string{root, "deploy"}, path...)...)
}
