//go:build e2e

// Package chaos_test breaks usher on a real node, under load, and counts what
// came through: what was admitted without what it asked for, what was refused,
// what waited too long.
//
//	go test -tags e2e ./test/chaos -v -args -seed 1 -for 10m
package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

var (
	seed     = flag.Uint64("seed", 1, "seed of what breaks and when")
	duration = flag.Duration("for", time.Minute, "how long things break")
	rate     = flag.Float64("rate", 100, "pod creations offered a second, as dry-runs")
)

const appImage = "node.local/app:e2e"

// cluster is the node with usher installed.
type cluster struct {
	*kubernetes.Clientset
	node  *node.Node
	usher *usher.Installation
	// flood has no limit of its own on requests.
	flood *kubernetes.Clientset
}

var shared *cluster

func TestMain(m *testing.M) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		status = 1
	}
	os.Exit(status)
}

func run(ctx context.Context, m *testing.M) (status int, err error) {
	n, err := node.Start(ctx, os.Stderr)
	if err != nil {
		return 1, err
	}
	ends := []func() error{n.Release}
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
	config := rest.CopyConfig(n.Config)
	config.QPS = -1
	if shared.flood, err = kubernetes.NewForConfig(config); err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "usher-chaos-")
	if err != nil {
		return 1, err
	}
	ends = append(ends, func() error { return os.RemoveAll(folder) })
	root, err := node.Root()
	if err != nil {
		return 1, err
	}
	app, err := node.Compile(ctx, root, "./test/e2e/app", folder)
	if err != nil {
		return 1, err
	}
	if err := n.Load(ctx, node.Image{Name: appImage, Binaries: []string{app}}); err != nil {
		return 1, err
	}
	if shared.usher, err = usher.Install(ctx, n); err != nil {
		n.Dump(ctx, os.Stderr, usher.Namespace)
		return 1, err
	}
	ends = append(ends, func() error { return shared.usher.Uninstall(context.WithoutCancel(ctx)) })
	if out, err := n.Kubectl(ctx, templates, "apply", "-f", "-"); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, out)
	}
	return m.Run(), nil
}

// templates are one that is mandatory and one that is not. What they add is
// named after them.
const templates = `
apiVersion: v1
kind: ConfigMap
metadata: {name: wished-initializer, namespace: usher-system}
data:
  config: |
    containers:
    - {name: wished, image: "` + appImage + `", args: [serve, "127.0.0.1:8081"]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: demanded-initializer, namespace: usher-system}
data:
  options: |
    mandatory: true
  config: |
    containers:
    - {name: demanded, image: "` + appImage + `", args: [serve, "127.0.0.1:8082"]}
`
