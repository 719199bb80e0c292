//go:build e2e

// Package etcd_test tests etcd clusters on a node with running pods, with usher
// installed like by its users.
package etcd_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/etcd"
	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

var (
	killFor = flag.Duration("kill-for", time.Minute, "how long members are broken at random")
	seeds   = flag.Int("seeds", 1, "with how many seeds they are")
)

// The versions between which clusters are upgraded; their images have the
// default names.
const (
	v36 = etcd.DefaultVersion
	v37 = "3.7.3"
)

var shared struct {
	*node.Node
	client client.Client
}

func TestMain(m *testing.M) {
	flag.Parse()
	usher.Stories{Run: m.Run, Prepare: loadImages, Begin: begin}.Main()
}

func loadImages(ctx context.Context, n *node.Node) error {
	programs, err := components.Ensure(ctx, os.Stderr, "etcd-3.6", "etcd-3.7", "etcdutl-3.6", "etcdutl-3.7", "versitygw")
	if err != nil {
		return err
	}
	for version, minor := range map[string]string{v36: "3.6", v37: "3.7"} {
		image := node.Image{Name: etcd.DefaultRepository + ":v" + version, Binaries: []string{
			filepath.Join(programs, "etcd-"+minor) + ":/usr/local/bin/etcd", filepath.Join(programs, "etcdutl-"+minor) + ":/usr/local/bin/etcdutl",
		}}
		if err := n.Load(ctx, image); err != nil {
			return err
		}
	}
	return n.Load(ctx, node.Image{Name: objectStoreImage, Binaries: []string{filepath.Join(programs, "versitygw")}})
}

func begin(ctx context.Context, n *node.Node, _ *usher.Installation) (end func() error, err error) {
	shared.Node = n
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), etcdv1beta2.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if shared.client, err = client.New(n.Config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	// A test waits less time for a member than in production, but longer than any
	// fault that keeps the data.
	patch := `[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--etcd-member-timeout=1m"}]`
	for _, args := range [][]string{
		{"patch", "-n", usher.Namespace, "deployment/usher-controller", "--type=json", "-p", patch},
		{"rollout", "status", "-n", usher.Namespace, "deployment/usher-controller", "--timeout=120s"},
	} {
		if out, err := n.Kubectl(ctx, "", args...); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
	}
	// Delete the clusters before their CRD.
	return func() error {
		_, err := n.Kubectl(context.WithoutCancel(ctx), "", "delete", "etcdclusters", "--all", "--all-namespaces", "--cascade=foreground", "--timeout=60s")
		return err
	}, nil
}
