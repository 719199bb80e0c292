//go:build soak

package deploy_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/previous"
)

// TestRemovalAfterARollback lets the previous release register after this one,
// and removes it as docs/operations.md says.
func TestRemovalAfterARollback(t *testing.T) {
	folder := t.TempDir()
	program, err := previous.Build(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	source, err := previous.Source(t.Context(), folder, "deploy")
	if err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(source, "deploy", "usher.yaml")
	r := startRemoval(t)
	r.install(t, 1)
	if now := r.kubectl(t, "get", registrations, "-o", "yaml"); !strings.Contains(now, "usher-is-installed") || !strings.Contains(now, "scaled.policy.usher.dev") {
		t.Fatalf("this release registered\n%s", now)
	}
	r.end(t)

	since := time.Now()
	r.kubectl(t, "apply", "-f", before)
	// The plugin keeps the previous release from removing the owner.
	r.kubectl(t, "patch", registrations, "usher", "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`)
	address, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := r.plane.WebhookKubeconfig(t.Context(), kubeconfig, r.plane.Config.Host); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, "webhook", "--kubeconfig", kubeconfig, "--url", "https://"+address, "--bind-address", address, "--health-address", "0", "--metrics-address", "0")
	server.Stdout, server.Stderr = t.Output(), t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() { cancel(); _ = server.Wait() }
	t.Cleanup(stop)
	if err := r.plane.UntilRegistered(t.Context(), "https://"+address); err != nil {
		t.Fatal(err)
	}
	t.Logf("the previous release was registered after %s", time.Since(since).Round(time.Millisecond))
	now := r.kubectl(t, "get", registrations, "-o", "yaml")
	if strings.Contains(now, "usher-is-installed") || strings.Contains(now, "scaled.policy.usher.dev") {
		t.Errorf("the previous release left conditions or webhooks of this one:\n%s", now)
	}
	if err := r.change(t); err != nil {
		t.Error(err)
	}

	path, forget, err := r.plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	defer forget()
	r.usher(t, path, "uninstall")
	stop()
	since = time.Now()
	r.kubectl(t, "delete", "-f", before, "--wait=false")
	r.until(t, "workloads can be changed", func() bool { return r.change(t) == nil })
	t.Logf("workloads could be changed after %s", time.Since(since).Round(time.Millisecond))
	if left := r.registered(t); left != "" {
		t.Errorf("left: %s", left)
	}
}
