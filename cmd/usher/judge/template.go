package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/usher-dev/usher/cmd/usher/manifest"
	"github.com/usher-dev/usher/cmd/usher/report"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies/catalog"
	"github.com/usher-dev/usher/position"
)

// The fields of a template's ConfigMap.
const (
	dataField   = "data."
	configField = dataField + injector.ConfigKey
)

// template is a template's ConfigMap among the documents.
type template struct {
	doc    *manifest.Document
	name   string
	config string
	// given is set where the template was named as one: it is there for the
	// objects, and what it changes is not what was asked.
	given  bool
	parsed *injector.Template
	// err is an *injector.InvalidTemplate where the template cannot be used.
	err error
	// pairs describes the templates that this one cannot be injected with.
	pairs []string
}

// readTemplate reads a template; nil where the document holds none. A ConfigMap
// that is only named like one, without the key config, is none.
func readTemplate(doc *manifest.Document) *template {
	if doc.APIVersion != "v1" || doc.Kind != "ConfigMap" {
		return nil
	}
	labels := map[string]string{}
	var label string
	if json.Unmarshal(stringMap(doc.JSON, "metadata", "labels")[injector.TemplateLabel], &label) == nil {
		labels[injector.TemplateLabel] = label
	}
	data := stringMap(doc.JSON, "data")
	t := &template{doc: doc, name: injector.TemplateName(doc.Name, labels)}
	if _, has := data[injector.ConfigKey]; t.name == "" || !has && label == "" {
		return nil
	}
	texts, invalid := map[string]string{}, &injector.InvalidTemplate{Name: t.name}
	for _, key := range []string{injector.ConfigKey, injector.OptionsKey} {
		value, has := data[key]
		if !has {
			continue
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			invalid.Problems = append(invalid.Problems, injector.Problem{Reason: injector.TemplateInvalid, Field: dataField + key,
				Detail: "is no string: write it as a block of text, after " + key + ": |"})
			continue
		}
		texts[key] = text
	}
	if t.config = texts[injector.ConfigKey]; len(invalid.Problems) > 0 {
		t.err = invalid
		return t
	}
	t.parsed, t.err = injector.ParseTemplate(t.name, texts)
	return t
}

func notATemplate(doc *manifest.Document) error {
	return fmt.Errorf("%s is no template: write a ConfigMap named <template>%s with the key %s, or labelled %s",
		doc, injector.TemplateSuffix, injector.ConfigKey, injector.TemplateLabel)
}

// collect makes the set of all templates. One that was given goes before one
// that is merely among the files, where the first counts: variants of a
// template in one repository are no mistake.
func (s *scene) collect(files []file) {
	entries, by := map[string]injector.Entry{}, map[string]*template{}
	all := 0
	for _, given := range []bool{true, false} {
		for i := range files {
			f := &files[i]
			if f.given != given {
				continue
			}
			for _, t := range f.templates {
				all++
				t.given = given
				first := by[t.name]
				if first == nil {
					by[t.name], entries[t.name] = t, injector.Entry{Template: t.parsed, Err: t.err}
					continue
				}
				if given {
					f.errs = append(f.errs, &manifest.Error{File: t.doc.File, Line: t.doc.Line, Err: fmt.Errorf(
						"the template %q is given twice, first in %s:%d", t.name, first.doc.File, first.doc.Line)})
					continue
				}
				s.notes = append(s.notes, fmt.Sprintf("the template %s is in %s:%d and %s:%d: the first is injected",
					t.name, first.doc.File, first.doc.Line, t.doc.File, t.doc.Line))
			}
		}
	}
	s.set = injector.NewSet(entries)
	if all > 0 {
		s.notes = append(s.notes, fmt.Sprintf("templates proved offline, without the API server's dry-run: %d", all))
	}
	// A pair is told once, at the later name among the files.
	told := map[string]bool{}
	for _, name := range slices.Backward(s.set.Names()) {
		if by[name].given {
			continue
		}
		for _, line := range s.set.Conflicts(name) {
			if !told[line] {
				told[line] = true
				by[name].pairs = append(by[name].pairs, line)
			}
		}
	}
}

// judgeTemplate proves a template as the cluster does when it is applied, less
// the dry-run.
func (s *scene) judgeTemplate(t *template) ([]report.Finding, error) {
	var found []report.Finding
	var invalid *injector.InvalidTemplate
	if errors.As(t.err, &invalid) {
		for _, p := range invalid.Problems {
			f := s.own(t.doc, catalog.TemplateInvalid, p.Field, sentence(p))
			f.Line, f.Column = t.position(p)
			found = append(found, f)
		}
		return found, nil
	}
	proof, err := injector.Prove(t.parsed)
	if err != nil {
		return nil, fmt.Errorf("proving the template %s: %w", t.name, err)
	}
	for _, p := range proof.Problems {
		found = append(found, s.own(t.doc, catalog.TemplateInvalid, configField, string(p.Reason)+": "+p.String()))
	}
	if t.given {
		return found, nil
	}
	for _, effect := range proof.Effects {
		found = append(found, s.own(t.doc, catalog.TemplateEffect, configField, "template "+t.name+": "+effect))
	}
	for _, pair := range t.pairs {
		found = append(found, s.own(t.doc, catalog.TemplateConflict, configField, pair))
	}
	return found, nil
}

// position is the place in the file of a problem, inside the block of text if
// the field is there.
func (t *template) position(p injector.Problem) (line, column int) {
	first, indent, ok := t.doc.Block(configField)
	if !ok || p.Line == 0 || !strings.HasPrefix(p.Field, configField) {
		return t.doc.Position(p.Field)
	}
	column = 1
	if path, inside := strings.CutPrefix(p.Field, configField+"."); inside {
		_, column = position.New([]byte(t.config), 1).Of(path)
	}
	return first + p.Line - 1, indent + column
}

// sentence is a problem as a predicate about its field.
func sentence(p injector.Problem) string {
	verb, _, _ := strings.Cut(p.Detail, " ")
	if p.Field == "" || !slices.Contains([]string{"is", "has", "names", "claims", "must"}, verb) {
		return p.Detail
	}
	return lastStep(p.Field) + " " + p.Detail
}

// lastStep is what a message calls a field: containers[0], image, or a key.
func lastStep(field string) string {
	if open := strings.LastIndexByte(field, '['); open >= 0 && strings.HasSuffix(field, "]") {
		if key := field[open+1 : len(field)-1]; strings.ContainsAny(key, "./") {
			return key
		}
		return field[strings.LastIndexByte(field[:open], '.')+1:]
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}
