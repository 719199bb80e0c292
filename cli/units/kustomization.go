package units

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// KustomizationNames are the file names that kustomize accepts.
var KustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(file string) bool {
	return slices.Contains(KustomizationNames, filepath.Base(file))
}

// kustomization has the fields of a kustomization that name files.
type kustomization struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Resources             []any `json:"resources"`
	Bases                 []any `json:"bases"`
	Components            []any `json:"components"`
	PatchesStrategicMerge []any `json:"patchesStrategicMerge"`
	Configurations        []any `json:"configurations"`
	Generators            []any `json:"generators"`
	Transformers          []any `json:"transformers"`
	Validators            []any `json:"validators"`
	CRDs                  []any `json:"crds"`

	Patches      []reference `json:"patches"`
	PatchesJSON  []reference `json:"patchesJson6902"`
	Replacements []reference `json:"replacements"`
	OpenAPI      reference   `json:"openapi"`
	ConfigMaps   []generator `json:"configMapGenerator"`
	Secrets      []generator `json:"secretGenerator"`
}

type reference struct {
	Path string `json:"path"`
}

type generator struct {
	Files []string `json:"files"`
	Envs  []string `json:"envs"`
	Env   string   `json:"env"`
}

// readKustomization reads a kustomization. ok is false if the file is something else,
// such as Flux's Kustomization. A kustomization that cannot be read is one without
// files: rendering it says what is wrong.
func readKustomization(file string) (k kustomization, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return k, false
	}
	if yaml.Unmarshal(text, &k) != nil {
		return kustomization{}, true
	}
	group, _, _ := strings.Cut(k.APIVersion, "/")
	return k, k.APIVersion == "" || group == "kustomize.config.k8s.io"
}

// user returns the kustomization in the folder of a file that uses the file, nil for
// none. resource is true if the file has objects, and not changes of others.
func user(path string) (u *Unit, resource bool) {
	folder := filepath.Dir(path)
	for _, name := range KustomizationNames {
		k, ok := readKustomization(filepath.Join(folder, name))
		if !ok {
			continue
		}
		if name == filepath.Base(path) || slices.Contains(k.uses(folder), filepath.Clean(path)) {
			return &Unit{Kind: Kustomization, Folder: folder, Partial: k.Kind == "Component"}, slices.Contains(k.Resources, any(filepath.Base(path)))
		}
	}
	return nil, false
}

// uses returns the files and folders that the kustomization in a folder uses.
func (k kustomization) uses(folder string) (paths []string) {
	add := func(path string) {
		if path != "" && !strings.Contains(path, "\n") && !strings.Contains(path, "://") && !filepath.IsAbs(path) {
			paths = append(paths, filepath.Join(folder, path))
		}
	}
	for _, entry := range slices.Concat(k.Resources, k.Bases, k.Components, k.PatchesStrategicMerge, k.Configurations, k.Generators, k.Transformers, k.Validators, k.CRDs) {
		if path, ok := entry.(string); ok {
			add(path)
		}
	}
	for _, r := range slices.Concat(k.Patches, k.PatchesJSON, k.Replacements, []reference{k.OpenAPI}) {
		add(r.Path)
	}
	for _, g := range slices.Concat(k.ConfigMaps, k.Secrets) {
		for _, entry := range slices.Concat(g.Files, g.Envs, []string{g.Env}) {
			_, path, keyed := strings.Cut(entry, "=")
			if !keyed {
				path = entry
			}
			add(path)
		}
	}
	return paths
}
