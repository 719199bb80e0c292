package files

import "github.com/usher-dev/usher/manifest"

// define makes the kinds known that are defined among the files.
func (w *Workspace) define(docs []*manifest.Document) []error {
	v := w.options.Validator
	if v == nil {
		return nil
	}
	if note := v.Note(); note != "" {
		w.Notes = append(w.Notes, note)
	}
	var errs []error
	for _, d := range docs {
		if d.APIVersion != "apiextensions.k8s.io/v1" || d.Kind != "CustomResourceDefinition" {
			continue
		}
		if err := v.Define(d.JSON); err != nil {
			errs = append(errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
		}
	}
	return errs
}
