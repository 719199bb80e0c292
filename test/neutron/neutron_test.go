//go:build neutron

package neutron

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
)

// TestItServesAndLeavesNothingRunning creates a network as a project's user.
func TestItServesAndLeavesNothingRunning(t *testing.T) {
	data := t.TempDir()
	t.Setenv("TMPDIR", data)
	n, err := Start(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.serveNetwork(t); err != nil {
		t.Errorf("using it: %v", err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		// A process may end in the meantime.
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), data) {
			t.Errorf("still running: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	if left, err := os.ReadDir(data); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func (n *Neutron) serveNetwork(t *testing.T) error {
	p, err := n.AddProject(t.Context(), "demo")
	if err != nil {
		return err
	}
	client, err := p.Client(t.Context())
	if err != nil {
		return err
	}
	return networks.Create(t.Context(), client, networks.CreateOpts{Name: "net"}).Err
}
