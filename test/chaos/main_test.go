//go:build e2e

// Package chaos_test breaks usher on a real node, under load, and counts the
// results: pods without what they asked for, refused pods, and slow requests.
//
//	go test -tags e2e ./test/chaos -v -args -seed 1 -for 10m
package chaos_test

import (
	"context"
	"flag"
	"fmt"
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

const appImage = usher.AppImage

// cluster is the node with usher installed.
type cluster struct {
	*kubernetes.Clientset
	node  *node.Node
	usher *usher.Installation
	// flood has no rate limit on requests.
	flood *kubernetes.Clientset
}

var shared *cluster

func TestMain(m *testing.M) {
	flag.Parse()
	usher.Stories{Run: m.Run, Prepare: loadApp, Begin: begin}.Main()
}

func loadApp(ctx context.Context, n *node.Node) error { return usher.LoadApp(ctx, n) }

func begin(ctx context.Context, n *node.Node, installed *usher.Installation) (end func() error, err error) {
	shared = &cluster{node: n, usher: installed}
	if shared.Clientset, err = kubernetes.NewForConfig(n.Config); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(n.Config)
	config.QPS = -1
	if shared.flood, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if out, err := n.Kubectl(ctx, templates, "apply", "-f", "-"); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return nil, nil
}

// templates are a mandatory one and another. What they add is named after them.
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
