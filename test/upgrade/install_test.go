//go:build soak

package upgrade_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A way of installing usher.
type way struct {
	// install and upgrade apply the release of the tag; rollback applies the
	// previous one again.
	install, upgrade, rollback func(t *testing.T, c *cluster, tag string)
}

var ways = map[string]way{
	"kubectl": {applied, applied, applied},
	"kustomize": {kustomized, func(t *testing.T, c *cluster, tag string) {
		c.kubectl(t, "apply", "-k", c.deploy(tag, "base", "crds"))
		kustomized(t, c, tag)
	}, kustomized},
	"Helm": {
		install: func(t *testing.T, c *cluster, tag string) {
			c.helm(t, "install", "usher", c.deploy(tag, "chart", "usher"), "--create-namespace", "--set", "image.repository="+repository+",image.tag="+tag)
		},
		upgrade: func(t *testing.T, c *cluster, tag string) {
			c.helm(t, "upgrade", "usher", c.deploy(tag, "chart", "usher"), "--set", "image.repository="+repository+",image.tag="+tag)
		},
		rollback: func(t *testing.T, c *cluster, _ string) { c.helm(t, "rollback", "usher") },
	},
}

// applied applies usher.yaml with the name of the image.
func applied(t *testing.T, c *cluster, tag string) {
	text, err := os.ReadFile(c.deploy(tag, "usher.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if tag == after {
		c.kubectl(t, "apply", "-f", c.deploy(tag, "crds.yaml"))
	}
	manifest := filepath.Join(t.TempDir(), "usher.yaml")
	named := strings.ReplaceAll(string(text), "image: usher:latest", "image: "+repository+":"+tag)
	if err := os.WriteFile(manifest, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "apply", "-f", manifest)
}

// kustomized applies deploy/base with the name of the image.
func kustomized(t *testing.T, c *cluster, tag string) {
	folder := t.TempDir()
	base, err := filepath.Rel(folder, c.deploy(tag, "base"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s]\nimages: [{name: usher, newName: %s, newTag: %s}]\n", base, repository, tag)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, "apply", "-k", folder)
}

// helm runs Helm's command line, built from its module.
func (c *cluster) helm(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "helm"}, append(args, "-n", namespace, "--kubeconfig", c.node.Kubeconfig)...)...)
	cmd.Dir = filepath.Join(c.root, "tools", "packaging")
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
}

// kubectl runs kubectl, which must succeed, and returns its standard output.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.node.ReadKubectl(t.Context(), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}
