package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChartsAndKustomizationsAreLeftToTheirTools(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, text := range map[string]string{
		"plain.yaml":                  "",
		"chart/Chart.yaml":            "",
		"chart/values.yaml":           "",
		"chart/templates/web.yaml":    "{{ broken }}",
		"chart/charts/sub/Chart.yaml": "",
		"base/kustomization.yaml":     "resources: [web.yaml]",
		"base/web.yaml":               "",
		"base/notes.yaml":             "",
		"overlay/kustomization.yaml":  "resources: [../base]\npatches: [{path: patch.yaml}, {patch: '{}'}]",
		"overlay/patch.yaml":          "",
		"overlay/beside.yaml":         "",
		"alone/kustomization.yaml":    "namePrefix: a-",
		"broken/kustomization.yaml":   "resources: [",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, errs := Files([]string{"."})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	kept, bundles := Unbundled(files, nil)
	want := []string{"alone/kustomization.yaml", "broken/kustomization.yaml", "overlay/beside.yaml", "overlay/kustomization.yaml", "plain.yaml"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var folders []string
	for _, b := range bundles {
		folders = append(folders, b.Render)
	}
	if diff := cmp.Diff([]string{"helm template chart", "kustomize build overlay"}, folders); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
	if kept, _ := Unbundled([]string{"overlay/patch.yaml", "overlay/kustomization.yaml"}, []string{"overlay/patch.yaml"}); len(kept) != 2 {
		t.Errorf("a file that was named is left out: %v", kept)
	}
}
