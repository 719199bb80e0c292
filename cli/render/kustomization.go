package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
)

// origin is the annotation in which kustomize names the source of an object.
const origin = "config.kubernetes.io/origin"

// renderKustomization builds a kustomization without what it has from elsewhere.
func renderKustomization(r Request, values *given) (*Result, error) {
	folder, err := filepath.Abs(r.Folder)
	if err != nil {
		return nil, err
	}
	// Kustomize resolves links before it compares folders.
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	files := newLocal(folder)
	files.read = func(text []byte) { values.file(string(text)) }
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), folder, r.Folder))
	}
	result := &Result{Notes: files.notes(r.Folder), Partial: len(files.missing) > 0 || files.helm}
	for _, object := range built.Resources() {
		file := sourceOf(r.Folder, files.kustomization, object)
		annotations := object.GetAnnotations()
		delete(annotations, origin)
		if err := object.SetAnnotations(annotations); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		result.Objects = append(result.Objects, Object{File: file, Text: string(text)})
	}
	return result, nil
}

// sourceOf returns the file that an object was read from, or the kustomization that
// generates it.
func sourceOf(folder, kustomization string, object *resource.Resource) string {
	from, err := object.GetOrigin()
	switch {
	case err != nil || from == nil:
	case from.Path != "":
		return filepath.Join(folder, filepath.FromSlash(from.Path))
	case from.ConfiguredIn != "":
		return filepath.Join(folder, filepath.FromSlash(from.ConfiguredIn))
	}
	return filepath.Join(folder, kustomization)
}
