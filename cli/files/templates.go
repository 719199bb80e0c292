package files

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
)

// IsTemplate reports whether a document contains a template, as the cluster
// sees it: a ConfigMap in usher's namespace with the name or the label of one.
// A document without a namespace may go there.
func (w *Workspace) IsTemplate(doc *manifest.Document) bool {
	if doc.Namespace != "" && doc.Namespace != w.options.OwnNamespace && !w.given[doc] {
		return false
	}
	name, _ := templateOf(doc)
	return name != ""
}

// templateOf returns the name and the data of the template in a ConfigMap, or
// "" if it is not a template. It skips a value that is not a string, because
// Judge reports it.
func templateOf(doc *manifest.Document) (name string, data map[string]string) {
	if doc.APIVersion != "v1" || doc.Kind != "ConfigMap" {
		return "", nil
	}
	var cm struct {
		Metadata struct {
			Labels map[string]jsontext.Value `json:"labels"`
		} `json:"metadata"`
		Data map[string]jsontext.Value `json:"data"`
	}
	if json.Unmarshal(doc.JSON, &cm) != nil {
		return template.NameOf(doc.Name, nil), nil
	}
	labels := map[string]string{}
	for _, key := range template.LabelKeys() {
		var label string
		if json.Unmarshal(cm.Metadata.Labels[key], &label) == nil {
			labels[key] = label
		}
	}
	data = map[string]string{}
	for key, value := range cm.Data {
		var text string
		if json.Unmarshal(value, &text) == nil {
			data[key] = text
		}
	}
	return template.NameOf(doc.Name, labels), data
}

// Template returns the template that a document contains, or that of a revision; nil
// if it is not a template, or not a valid one.
func (w *Workspace) Template(doc *manifest.Document) *template.Template {
	if !w.IsTemplate(doc) {
		return nil
	}
	t, err := template.Parse(templateOf(doc))
	if err != nil {
		return nil // Judge reports it
	}
	return t
}

// loadTemplates loads the set of templates. Templates that were given as such
// take precedence over those merely among the files. If several ConfigMaps
// contain one template, the first by name serves, as in the cluster; if several
// documents have one ConfigMap, the first serves: variants of it in one
// repository are not a mistake.
func (w *Workspace) loadTemplates(docs, given []*manifest.Document) []error {
	entries, from := map[string]injector.Entry{}, map[string]*manifest.Document{}
	var errs []error
	put := func(name string, doc *manifest.Document, data map[string]string) {
		template, err := template.Parse(name, data)
		entries[name], from[name] = injector.Entry{Template: template, Err: err, ConfigMap: doc.Name}, doc
	}
	byName := func(a, b *manifest.Document) int { return cmp.Compare(a.Name, b.Name) }
	for _, doc := range slices.SortedStableFunc(slices.Values(given), byName) {
		name, data := templateOf(doc)
		switch first := from[name]; {
		case name == "":
			errs = append(errs, &manifest.Error{File: doc.File, Line: doc.Line, Err: fmt.Errorf(
				"%s is not a template: write a ConfigMap named <template>%s with the key %s, or labelled %s",
				doc, template.NameSuffix, template.ConfigKey, wellknown.LabelTemplate)})
		case first != nil && first.Name == doc.Name:
			errs = append(errs, &manifest.Error{File: doc.File, Line: doc.Line, Err: fmt.Errorf(
				"the template %q is given twice, first in %s:%d", name, first.File, first.Line)})
		case first == nil:
			put(name, doc, data)
		}
	}
	among := slices.DeleteFunc(slices.Clone(docs), func(d *manifest.Document) bool { return !w.IsTemplate(d) })
	slices.SortStableFunc(among, byName)
	for _, doc := range among {
		name, data := templateOf(doc)
		if first := from[name]; first == nil {
			put(name, doc, data)
		} else if first.Name == doc.Name {
			w.Notes = append(w.Notes, fmt.Sprintf("the template %s is in %s:%d and %s:%d: the first is injected",
				name, first.File, first.Line, doc.File, doc.Line))
		}
	}
	if n := len(among) + len(given) - len(errs); n > 0 {
		w.Notes = append(w.Notes, validatedOffline(n))
	}
	w.Templates = injector.NewSet(entries)
	return errs
}

// validatedOffline notes that a cluster checks more of the templates.
func validatedOffline(n int) string {
	verb := "were"
	if n == 1 {
		verb = "was"
	}
	return fmt.Sprintf("note: %s %s validated offline; the cluster also runs a dry run", finding.Count(n, "template"), verb)
}
