// Package usher installs usher on a node like its users: its image, usher install,
// and in the end the uninstallation in docs/operations.md.
package usher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/usher-dev/usher/test/cluster/node"
)

const (
	// Namespace is usher's own namespace.
	Namespace = "usher-system"
	// Image is usher's image on the node. It names no registry, like that of make
	// image.
	Image = "usher-e2e:latest"
	// PodImage is the image for users' pods on the node.
	PodImage = podRepository + ":e2e"

	podRepository = "node.local/usher-pod"
	// Pods selects the pods of the webhook.
	Pods = "app.kubernetes.io/name=usher,app.kubernetes.io/component=webhook"

	customResources = "etcdrestores.etcd.database.coreos.com,etcdbackups.etcd.database.coreos.com,etcdclusters.etcd.database.coreos.com,networks.samplecrd.k8s.io"
)

// An Installation is usher on a node.
type Installation struct {
	// Binary is the path of the command line.
	Binary string

	node   *node.Node
	folder string
}

// Install builds usher, loads its image, applies what usher install prints, and
// waits until it decides. It first removes another installation that an interrupted
// test left.
func Install(ctx context.Context, n *node.Node) (*Installation, error) {
	folder, err := os.MkdirTemp("", "usher-install-")
	if err != nil {
		return nil, err
	}
	i := &Installation{node: n, folder: folder}
	if err := i.install(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("installing usher: %w", err), os.RemoveAll(folder))
	}
	return i, nil
}

func (i *Installation) install(ctx context.Context) error {
	root, err := node.Root()
	if err != nil {
		return err
	}
	if i.Binary, err = node.Compile(ctx, root, "./cmd/usher", i.folder); err != nil {
		return err
	}
	if err := i.remove(ctx); err != nil {
		return err
	}
	main, pod, err := Binaries(ctx, root, i.folder)
	if err != nil {
		return err
	}
	for name, programs := range map[string][]string{Image: main, PodImage: pod} {
		if err := i.node.Load(ctx, node.Image{Name: name, Binaries: programs}); err != nil {
			return err
		}
	}
	status, manifests, errs := i.Run(ctx, "install", "--image", Image, "--set", "podImage.repository="+podRepository+",podImage.tag=e2e")
	if status != 0 {
		return fmt.Errorf("usher install: exit status %d\n%s", status, errs)
	}
	if out, err := i.node.Kubectl(ctx, manifests, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("applying what usher install prints: %w\n%s", err, out)
	}
	if err := i.kubectl(ctx, "rollout", "status", "-n", Namespace, "deployment", "--timeout=120s"); err != nil {
		return err
	}
	return i.UntilDeciding(ctx)
}

// Binaries builds the programs of usher's main image and of the one for users'
// pods, and returns them as node.Image has them.
func Binaries(ctx context.Context, root, folder string) (main, pod []string, err error) {
	for _, name := range []string{"usher-entrypoint", "usher-redirect", "usher-pod", "usher-bucket", "usher-webhook", "usher-controller"} {
		program, err := node.Compile(ctx, root, "./cmd/"+name, folder)
		if err != nil {
			return nil, nil, err
		}
		if name == "usher-entrypoint" {
			program += ":/usher"
		}
		main = append(main, program)
	}
	return main, main[:4], nil
}

// UntilDeciding waits until the API server calls usher, both for injection and
// for rules.
func (i *Installation) UntilDeciding(ctx context.Context) error {
	const asks = `{apiVersion: v1, kind: Pod, metadata: {name: asks, namespace: default, annotations: {inject.usher.dev/no-such-template: "true"}},
spec: {containers: [{name: app, image: app}]}}`
	const cannot = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: cannot, namespace: default}, spec: {schedule: "0 0 31 2 *",
jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}}}}`
	last := ""
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, denied := range []string{asks, cannot} {
			// kubectl parses what begins with a brace as JSON.
			out, err := i.node.Kubectl(ctx, "---\n"+denied, "create", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(out, "usher.dev") {
				last = out
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until usher decides: %w; a pod that asks for a template which does not exist got %q", err, last)
	}
	return nil
}

// Uninstall removes usher as docs/operations.md says.
func (i *Installation) Uninstall(ctx context.Context) error {
	return errors.Join(i.remove(ctx), os.RemoveAll(i.folder))
}

func (i *Installation) remove(ctx context.Context) error {
	out, err := i.node.ReadKubectl(ctx, "get", "namespace", Namespace, "--ignore-not-found", "-o", "name")
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if strings.TrimSpace(out) == "" {
		return nil
	}
	if err := i.ours(ctx); err != nil {
		return err
	}
	root, err := node.Root()
	if err != nil {
		return err
	}
	// An interrupted test may have left the definitions of an older version, or
	// none.
	if err := i.kubectl(ctx, "apply", "-f", filepath.Join(root, "deploy", "crds.yaml")); err != nil {
		return err
	}
	if err := i.kubectl(ctx, "delete", customResources, "--all", "--all-namespaces", "--timeout=2m"); err != nil {
		return err
	}
	for _, manifest := range []string{"usher.yaml", "crds.yaml"} {
		if err := i.kubectl(ctx, "delete", "--ignore-not-found", "-f", filepath.Join(root, "deploy", manifest)); err != nil {
			return err
		}
	}
	if status, stdout, stderr := i.Run(ctx, "uninstall"); status != 0 {
		return fmt.Errorf("usher uninstall: exit status %d\n%s%s", status, stdout, stderr)
	}
	return nil
}

// ours reports whether the installation may be removed: on a shared cluster,
// only one that a test installed.
func (i *Installation) ours(ctx context.Context) error {
	if i.node.Owned() {
		return nil
	}
	out, err := i.node.ReadKubectl(ctx, "get", "deployment", "-n", Namespace, "usher-webhook", "-o", "jsonpath={.spec.template.spec.containers[*].image}")
	if err != nil {
		return fmt.Errorf("looking at what is in the namespace %s: %w\n%s", Namespace, err, out)
	}
	if out != Image {
		return fmt.Errorf("the cluster has usher already, with the image %s; uninstall it, or name another cluster by %s", out, node.AnotherCluster)
	}
	return nil
}

// Run runs the usher command against the node.
func (i *Installation) Run(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	cmd := exec.CommandContext(ctx, i.Binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+i.node.Kubeconfig)
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return -1, "", err.Error()
	}
	return cmd.ProcessState.ExitCode(), out.String(), text.String()
}

func (i *Installation) kubectl(ctx context.Context, args ...string) error {
	if out, err := i.node.Kubectl(ctx, "", args...); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
