package istio

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// inputs downloads Istio's module, which go.sum of the module goldens verifies, and
// returns the folder of its injection tests.
func inputs(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "istio.io/istio")
	cmd.Dir = "goldens"
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) != nil || err != nil || module.Error != "" {
		t.Fatalf("downloading istio.io/istio: %v %s", err, out)
	}
	return filepath.Join(module.Dir, "pkg", "kube", "inject", "testdata", "inject")
}
