//go:build soak

package istio

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// The version of Istio, and the hash of its module.
const (
	version = "v0.0.0-20260827124520-eed52ebb66ad"
	sum     = "h1:ui9TJjRMAV/hb5ehQaZDq7IUGxuQP6dra9lapT/VjHI="
)

// inputs downloads the module and returns the folder of its injection tests.
func inputs(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "istio.io/istio@"+version)
	cmd.Dir = t.TempDir() // in no module, so that none grows
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &module) != nil || err != nil || module.Error != "" {
		t.Fatalf("downloading istio.io/istio: %v %s", err, out)
	}
	if module.Sum != sum {
		t.Fatalf("the module has the hash %s, want %s", module.Sum, sum)
	}
	return filepath.Join(module.Dir, "pkg", "kube", "inject", "testdata", "inject")
}
