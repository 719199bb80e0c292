package files

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/cli/manifest"
)

// define registers the kinds of the CustomResourceDefinitions among the files
// and of the given ones. Judge reports the problems of those among the files.
func (w *Workspace) define(given, docs []*manifest.Document) []error {
	v := w.options.Validator
	if v == nil {
		return nil
	}
	if note := v.Note(); note != "" {
		w.Notes = append(w.Notes, note)
	}
	var errs []error
	first := map[string]*manifest.Document{}
	var variants []string
	for i, d := range slices.Concat(given, docs) {
		if !d.IsDefinition() {
			continue
		}
		refusals, variant, err := v.Define(d.JSON)
		if first[d.Name] == nil {
			first[d.Name] = d
		}
		if variant {
			before := first[d.Name]
			if before.Unit != d.Unit {
				w.vary(d)
			}
			variants = append(variants, fmt.Sprintf("%s in %s:%d (first in %s:%d)", d.Name, d.File, d.Line, before.File, before.Line))
		}
		if len(refusals) > 0 {
			w.refused[d.Definition().GroupKind] = true
			if i < len(given) {
				err = fmt.Errorf("the API server refuses %s: %s: %s", d, refusals[0].Field, refusals[0].Message)
			}
		}
		if err != nil {
			errs = append(errs, &manifest.Error{File: d.File, Line: d.Line, Err: err})
		}
	}
	if n := len(variants); n > 0 {
		const shown = 3
		list := strings.Join(variants[:min(n, shown)], ", ")
		if n > shown {
			list += fmt.Sprintf(" and %d more", n-shown)
		}
		w.Notes = append(w.Notes, fmt.Sprintf("CustomResourceDefinitions that differ from an earlier one of their name, and serve only their own chart, kustomization or folder: %d: %s", n, list))
	}
	return errs
}

// vary makes a definition serve its own unit.
func (w *Workspace) vary(d *manifest.Document) {
	_, _, _ = w.variant(d.Unit).Define(d.JSON) // the caller has the refusals; the first of a unit serves
}

// variant returns the validator of a unit that differs from the others.
func (w *Workspace) variant(unit string) Validator {
	own := w.variants[unit]
	if own == nil {
		own = w.options.Validator.Within()
		w.variants[unit] = own
	}
	return own
}

// Unjudged describes what the validator left out of the objects that it judged, ""
// if nothing.
func (w *Workspace) Unjudged() string {
	if w.options.Validator == nil {
		return ""
	}
	return w.options.Validator.Unjudged()
}

// Refused reports whether the kind of a document is defined only by a
// CustomResourceDefinition that the API server refuses.
func (w *Workspace) Refused(doc *manifest.Document) bool {
	return w.Unknown(doc) && w.refused[schema.FromAPIVersionAndKind(doc.APIVersion, doc.Kind).GroupKind()]
}
