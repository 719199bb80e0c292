package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Bundle is a folder whose files are manifests only after a tool has rendered
// them.
type Bundle struct {
	Folder string
	// Render is the command that renders it.
	Render string
}

// String explains that the folder is skipped, and how to check it.
func (b Bundle) String() string {
	return fmt.Sprintf("%s is skipped until it is rendered: %s | usher check -", b.Folder, b.Render)
}

// Unbundled removes from the files of a searched folder those of Helm charts,
// and those that a kustomization uses: its bases, components and patches. Files
// that were named themselves stay.
func Unbundled(files, named []string) (kept []string, bundles []Bundle) {
	charts, owned, chosen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range named {
		chosen[file] = true
	}
	var roots []string
	for _, file := range files {
		switch filepath.Base(file) {
		case "Chart.yaml":
			charts[filepath.Dir(file)] = true
		case "kustomization.yaml", "kustomization.yml":
			completed := completes(file)
			for _, path := range completed {
				owned[path] = true
			}
			if len(completed) > 0 {
				roots = append(roots, filepath.Dir(file))
			}
		}
	}
	within := func(file string, folders map[string]bool) bool {
		for at := file; ; at = filepath.Dir(at) {
			if folders[at] {
				return true
			}
			if at == filepath.Dir(at) {
				return false
			}
		}
	}
	for _, file := range files {
		if chosen[file] || !within(file, charts) && !within(file, owned) {
			kept = append(kept, file)
		}
	}
	for folder := range charts {
		if !within(filepath.Dir(folder), charts) { // charts contain their dependencies
			bundles = append(bundles, Bundle{folder, "helm template " + folder})
		}
	}
	for _, folder := range roots {
		if !within(folder, owned) && !within(folder, charts) {
			bundles = append(bundles, Bundle{folder, "kustomize build " + folder})
		}
	}
	slices.SortFunc(bundles, func(a, b Bundle) int { return strings.Compare(a.Folder, b.Folder) })
	return kept, bundles
}

// completes returns the files and folders that a kustomization uses.
func completes(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var k struct {
		Resources, Bases, Components, PatchesStrategicMerge, Configurations, Generators, Transformers []any

		Patches, PatchesJSON6902 []struct{ Path string }
	}
	if yaml.Unmarshal(text, &k) != nil {
		return nil
	}
	var paths []string
	for _, entry := range slices.Concat(k.Resources, k.Bases, k.Components, k.PatchesStrategicMerge, k.Configurations, k.Generators, k.Transformers) {
		if path, ok := entry.(string); ok && !strings.Contains(path, "\n") && !strings.Contains(path, "://") {
			paths = append(paths, filepath.Join(filepath.Dir(file), path))
		}
	}
	for _, patch := range slices.Concat(k.Patches, k.PatchesJSON6902) {
		if patch.Path != "" {
			paths = append(paths, filepath.Join(filepath.Dir(file), patch.Path))
		}
	}
	return paths
}
