package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKustomizeMovesUsherToAnotherNamespace renders the kustomizations of
// docs/operations.md. They move everything that names usher's namespace, and
// nothing else.
func TestKustomizeMovesUsherToAnotherNamespace(t *testing.T) {
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(manual), "\n### Another namespace\n")
	if !found {
		t.Fatal("docs/operations.md has no section Another namespace")
	}
	// kustomize refuses absolute paths, and bases that contain the kustomization.
	folder, err := os.MkdirTemp(".", "namespace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	for _, name := range []string{"usher/kustomization.yaml", "kustomization.yaml"} {
		_, text, found := strings.Cut(section, "```yaml\n# "+name+"\n")
		if !found {
			t.Fatalf("the section has no %s", name)
		}
		text, section, _ = strings.Cut(text, "```\n")
		up := strings.Repeat("../", strings.Count(name, "/")+1)
		text = strings.NewReplacer("https://github.com/usher-dev/usher//deploy/base/", up+"base/", "?ref=v0.2.0", "").Replace(text)
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	moved := objects(t, strings.ReplaceAll(string(want), "usher-system", "other"))
	if diff := cmp.Diff(moved, objects(t, string(kustomize(t, folder)))); diff != "" {
		t.Errorf("-usher.yaml in the namespace other +kustomization:\n%s", diff)
	}
}
