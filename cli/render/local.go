package render

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/units"
)

// local is the file system in which kustomize finds only what is on disk: in each
// kustomization it reads, the entries are missing that do not exist there. Kustomize
// would take them for addresses, and run git.
type local struct {
	filesys.FileSystem

	root string
	// kustomization is the name of the root's kustomization.
	kustomization string
	missing       map[string]bool // entries
	helm          bool            // true if a kustomization asks for Helm
	read          func([]byte)    // is called with each text that is read
}

func newLocal(root string) *local {
	l := &local{FileSystem: filesys.MakeFsOnDisk(), root: root, kustomization: units.KustomizationNames[0], missing: map[string]bool{}, read: func([]byte) {}}
	for _, name := range units.KustomizationNames {
		if l.Exists(filepath.Join(root, name)) {
			l.kustomization = name
		}
	}
	return l
}

// ReadFile implements filesys.FileSystem.
func (l *local) ReadFile(path string) ([]byte, error) {
	text, err := l.FileSystem.ReadFile(path)
	l.read(text)
	if err != nil || !slices.Contains(units.KustomizationNames, filepath.Base(path)) {
		return text, err
	}
	var k map[string]any
	if yaml.Unmarshal(text, &k) != nil || k == nil {
		return text, nil // kustomize says what is wrong
	}
	changed := l.drop(k, filepath.Dir(path))
	if filepath.Dir(path) == l.root {
		metadata, _ := k["buildMetadata"].([]any)
		k["buildMetadata"], changed = append(metadata, "originAnnotations"), true
	}
	if !changed {
		return text, nil
	}
	return yaml.Marshal(k)
}

// drop removes what a kustomization has from elsewhere, and reports whether it has
// something.
func (l *local) drop(k map[string]any, folder string) (changed bool) {
	for _, field := range []string{"resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"} {
		entries, ok := k[field].([]any)
		if !ok {
			continue
		}
		kept := slices.DeleteFunc(entries, func(entry any) bool {
			path, ok := entry.(string)
			return ok && !strings.Contains(path, "\n") && !l.has(folder, path)
		})
		changed = changed || len(kept) < len(entries)
		k[field] = kept
	}
	for _, field := range []string{"helmCharts", "helmChartInflationGenerator", "helmGlobals"} {
		if _, ok := k[field]; ok {
			delete(k, field)
			l.helm, changed = true, true
		}
	}
	return changed
}

// has reports whether a path exists; if not, it becomes a note.
func (l *local) has(folder, path string) bool {
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(folder, path)
	}
	if l.Exists(at) {
		return true
	}
	l.missing[path] = true
	return false
}

// notes describes what is missing.
func (l *local) notes(folder string) (notes []string) {
	if len(l.missing) > 0 {
		notes = append(notes, fmt.Sprintf("%s: built without resources that the files do not contain: %s", folder, strings.Join(slices.Sorted(maps.Keys(l.missing)), ", ")))
	}
	if l.helm {
		notes = append(notes, fmt.Sprintf("%s: built without the charts of helmCharts, which kustomize renders only with --enable-helm", folder))
	}
	return notes
}
