package units

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files into a new folder, which becomes the current one.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind_GroupsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		paths []string
		plain []string
		units []string
		zones map[string]string
		// hidden is the number of hidden files.
		hidden int
	}{
		"a chart, with its dependencies": {
			files: map[string]string{"chart/Chart.yaml": "", "chart/values.yaml": "", "chart/templates/web.yaml": "{{ broken }}", "chart/charts/sub/Chart.yaml": "", "chart/charts/sub/templates/a.yaml": ""},
			units: []string{"chart chart"},
		},
		"a chart at the root hides only itself": {
			files: map[string]string{"Chart.yaml": "", "values-prod.yaml": "", "templates/web.yaml": "", "deploy/web.yaml": "", "crds/a.yaml": ""},
			plain: []string{"deploy/web.yaml"}, units: []string{"chart ."},
		},
		"a chart below another, outside its charts": {
			files: map[string]string{"Chart.yaml": "", "more/Chart.yaml": "", "more/templates/a.yaml": ""},
			units: []string{"chart .", "chart more"},
		},
		"a chart that another names by its path": {
			files: map[string]string{"app/Chart.yaml": "dependencies: [{name: lib, repository: 'file://../lib'}]", "lib/Chart.yaml": "", "lib/templates/a.yaml": ""},
			units: []string{"chart app"},
		},
		"an overlay and its base": {
			files: map[string]string{
				"base/kustomization.yaml": "resources: [web.yaml]", "base/web.yaml": "", "base/unused.yaml": "",
				"overlay/kustomization.yml": "resources: [../base]\npatches: [{path: patch.yaml}, {patch: '{}'}]", "overlay/patch.yaml": "", "overlay/unused.yaml": "",
			},
			plain: []string{"base/unused.yaml", "overlay/unused.yaml"}, units: []string{"kustomization overlay"},
		},
		"two overlays of a base": {
			files: map[string]string{"base/kustomization.yaml": "", "a/kustomization.yaml": "resources: [../base]", "b/kustomization.yaml": "resources: [../base]"},
			units: []string{"kustomization a", "kustomization b"},
		},
		"every name that kustomize accepts": {
			files: map[string]string{"a/kustomization.yml": "", "b/Kustomization": "patches: [{path: p.yaml}]", "b/p.yaml": "", "c/kustomization.yaml": "namePrefix: c-"},
			units: []string{"kustomization a", "kustomization b", "kustomization c"},
		},
		"generated ConfigMaps": {
			files: map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: [key=conf.yaml, other.json], envs: [a.yaml]}]", "conf.yaml": "", "other.json": "", "a.yaml": ""},
			units: []string{"kustomization ."},
		},
		"a component that nothing uses is still named": {
			files: map[string]string{"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml]", "c/a.yaml": ""},
			units: []string{"kustomization c"},
		},
		"kustomizations that use each other": {
			files: map[string]string{"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]"},
			units: []string{"kustomization a", "kustomization b"},
		},
		"Flux's Kustomization": {
			files: map[string]string{"kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization"},
			plain: []string{"kustomization.yaml"},
		},
		"a kustomization that cannot be read": {
			files: map[string]string{"kustomization.yaml": "resources: [", "web.yaml": ""},
			plain: []string{"web.yaml"}, units: []string{"kustomization ."},
		},
		"hidden files": {
			files: map[string]string{".github/workflows/ci.yaml": "", ".golangci.yml": "", ".usher.yaml": "", "a/.b/c.yaml": "", "web.yaml": ""},
			plain: []string{"web.yaml"}, hidden: 3,
		},
		"a hidden folder that was named": {
			files: map[string]string{".tekton/run.yaml": ""}, paths: []string{".tekton"}, plain: []string{".tekton/run.yaml"},
		},
		"folders with tests": {
			files: map[string]string{"web.yaml": "", "pkg/testdata/crd.yaml": "", "test/e2e/a/b.yaml": "", "tests/chart/Chart.yaml": ""},
			plain: []string{"pkg/testdata/crd.yaml", "test/e2e/a/b.yaml", "web.yaml"}, units: []string{"chart tests/chart"},
			zones: map[string]string{"pkg/testdata/crd.yaml": "pkg/testdata", "test/e2e/a/b.yaml": "test", "tests/chart": "tests"},
		},
		"a folder with tests that was named": {
			files: map[string]string{"testdata/a.yaml": ""}, paths: []string{"testdata"}, plain: []string{"testdata/a.yaml"},
		},
		"a template of a chart that was named": {
			files: map[string]string{"c/Chart.yaml": "", "c/templates/a.yaml": "", "c/templates/b.yaml": "", "c/README.yaml": ""},
			paths: []string{"c/templates/a.yaml", "c/templates/b.yaml", "c/README.yaml"}, plain: []string{"c/README.yaml"}, units: []string{"chart c"},
		},
		"a patch that was named": {
			files: map[string]string{"kustomization.yaml": "patches: [{path: p.yaml}]", "p.yaml": ""}, paths: []string{"p.yaml"}, units: []string{"kustomization ."},
		},
		"a kustomization that was named": {
			files: map[string]string{"a/kustomization.yaml": ""}, paths: []string{"a/kustomization.yaml"}, units: []string{"kustomization a"},
		},
		"a resource that was named by its absolute or another path": {
			files: map[string]string{"a/kustomization.yaml": "resources: [b.yaml]", "a/b.yaml": "", "a/c.yaml": ""},
			paths: []string{"./a/b.yaml", "a/c.yaml"}, plain: []string{"a/c.yaml"}, units: []string{"kustomization a"},
		},
		"standard input": {paths: []string{"-"}, plain: []string{"-"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree(t, c.files)
			if c.paths == nil {
				c.paths = []string{"."}
			}
			found, errs := Find(c.paths, nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var plain, units []string
			zones := map[string]string{}
			for _, f := range found.Files {
				plain = append(plain, f.Path)
				if f.Zone != "" {
					zones[f.Path] = f.Zone
				}
			}
			for _, u := range found.Units {
				units = append(units, u.String())
				if u.Zone != "" {
					zones[u.Folder] = u.Zone
				}
			}
			if c.zones == nil {
				c.zones = map[string]string{}
			}
			for what, diff := range map[string]string{
				"files": cmp.Diff(c.plain, plain), "units": cmp.Diff(c.units, units), "zones": cmp.Diff(c.zones, zones), "hidden files": cmp.Diff(c.hidden, found.Hidden),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func TestFind_SkipsWhatIsExcluded(t *testing.T) {
	tree(t, map[string]string{"a/Chart.yaml": "", "b/web.yaml": "", "c.yaml": ""})
	found, errs := Find([]string{"."}, func(file string) bool { return file != "c.yaml" })
	if len(errs) > 0 || len(found.Units) > 0 || len(found.Files) != 1 {
		t.Errorf("%+v, %v", found, errs)
	}
}
