//go:build soak

package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/test/previous"
)

// TestThePreviousReleaseRefusesTheMappingOfTolerate checks a template that limits
// what it tolerates: the previous release must not ignore the limits.
func TestThePreviousReleaseRefusesTheMappingOfTolerate(t *testing.T) {
	program, err := previous.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: side-initializer, namespace: usher-system}
data:
  options: "{mandatory: true, tolerate: {env: {names: [AWS_*]}}}"
  config: "containers: [{name: side, image: 'side:1'}]"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), program, "check", file)
	check.Dir = filepath.Dir(file)
	out, err := check.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "tolerate") {
		t.Errorf("%v: %s", err, out)
	}
}
