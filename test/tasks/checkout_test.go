//go:build e2e && soak

package tasks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/usher-dev/usher/test/cluster/components"
	"github.com/usher-dev/usher/test/cluster/node"
)

// TestDocumentedCheckoutOnANode builds usher and its image as contributors do, which
// compiles everything again, and installs that.
func TestDocumentedCheckoutOnANode(t *testing.T) {
	ctx := t.Context()
	n := started(ctx, t)
	if !n.Owned() {
		t.Skip("the commands load the image into the node of this machine")
	}
	root, err := node.Root()
	if err != nil {
		t.Fatal(err)
	}
	_, task, err := Documented(root)
	if err != nil || len(task.Commands) < 5 {
		t.Fatalf("the tutorial has no task %q: %v", checkout, err)
	}
	programs, err := components.Ensure(ctx, t.Output(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	back := n.Lend(ctx) // one of the commands takes the node
	defer func() {
		if err := back(); err != nil {
			t.Error(err)
		}
	}()
	path := programs + string(filepath.ListSeparator) + os.Getenv("PATH")
	run(t, Shell{Folder: root, Environment: []string{"KUBECONFIG=" + n.Kubeconfig, "PATH=" + path}}, task)
}
