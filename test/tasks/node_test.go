//go:build e2e

package tasks

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
	"github.com/usher-dev/usher/test/cluster/usher"
)

var write = flag.Bool("write", false, "write the measured seconds into "+Comparison)

// release is the one whose command line the test builds. The node has no registry,
// so it gets the images under the names that this command line asks for.
const release = "v0.0.0-rc.1"

// TestDocumentedTasksOnANode runs every command of the tutorial on a node without
// usher, as it is written.
func TestDocumentedTasksOnANode(t *testing.T) {
	ctx := t.Context()
	n := started(ctx, t)
	shell := terminal(ctx, t, n)
	tasks, _, err := Documented(shell.Folder)
	if err != nil {
		t.Fatal(err)
	}
	before, seconds := objects(ctx, t, n), map[string]string{}
	for _, task := range tasks {
		started := time.Now()
		run(t, shell, task)
		seconds[task.Name] = fmt.Sprintf("%.1f", max(0.1, time.Since(started).Seconds()))
		if t.Failed() {
			n.Dump(ctx, t.Output(), usher.Namespace, "shop")
			t.FailNow()
		}
	}
	if after := objects(ctx, t, n); after != before {
		t.Errorf("objects without a namespace before:\n%s\nand after the tasks:\n%s", before, after)
	}
	if *write {
		if err := Update(shell.Folder, tasks, seconds); err != nil {
			t.Error(err)
		}
	}
}

// started returns a node without usher, until the test ends.
func started(ctx context.Context, t *testing.T) *node.Node {
	t.Helper()
	n, err := node.Start(ctx, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Release(); err != nil {
			t.Error(err)
		}
	})
	if found, err := n.ReadKubectl(ctx, "get", "namespace", usher.Namespace, "--ignore-not-found", "-o", "name"); err != nil || found != "" {
		t.Fatalf("the cluster has usher already; uninstall it first (%s%v)", found, err)
	}
	return n
}

// terminal returns a shell with usher and kubectl for the node, after it loaded the
// images.
func terminal(ctx context.Context, t *testing.T, n *node.Node) Shell {
	t.Helper()
	root, err := node.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const name = "ghcr.io/usher-dev/usher"
	build := exec.CommandContext(ctx, "go", "build", "-o", folder, "-ldflags",
		"-s -w -X main.image="+name+":"+release+" -X main.podImage="+name+"-pod:"+release, "./cmd/usher")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	main, pod, err := usher.Binaries(ctx, root, folder)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := components.Ensure(ctx, t.Output(), "pause", "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	waits := []string{filepath.Join(programs, "pause")}
	for image, binaries := range map[string][]string{
		name + ":" + release:                main,
		name + "-pod:" + release:            pod,
		"docker.io/library/nginx:1.29":      waits,
		"docker.io/fluent/fluent-bit:4.2.0": waits,
		"docker.io/fluent/fluent-bit:4.2.1": waits,
	} {
		if err := n.Load(ctx, node.Image{Name: image, Binaries: binaries}); err != nil {
			t.Fatal(err)
		}
	}
	return Shell{Folder: root, Environment: []string{
		"KUBECONFIG=" + n.Kubeconfig, "PATH=" + strings.Join([]string{folder, programs, os.Getenv("PATH")}, string(os.PathListSeparator)),
	}}
}

// objects lists what a removal must not leave.
func objects(ctx context.Context, t *testing.T, n *node.Node) string {
	t.Helper()
	out, err := n.ReadKubectl(ctx, "get", "-o", "name",
		"namespaces,crds,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
