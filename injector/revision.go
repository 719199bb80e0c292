package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// pickRevisions sets the revision of each ask from the namespace's label,
// unless the pod selects one.
func pickRevisions(asks []ask, label string) {
	if label == "" {
		return
	}
	picked, err := template.PickedRevisions(label)
	for i := range asks {
		a := &asks[i]
		switch {
		case a.picked != nil:
		case err != nil && a.problem == nil && !a.refused:
			a.problem = new(finding.Denial(reason.BadValue, "", fmt.Sprintf("the namespace's label %s %s", wellknown.LabelRevisions, err)))
		case err == nil && picked[a.template] != "":
			a.revision = picked[a.template]
		}
	}
}

// pick sets the revision that the pod selects by an annotation.
func (a *ask) pick(o *template.PodOverride) {
	a.picked, a.revision = o, o.Value
	if wrong := template.ValidateRevision(o.Value); wrong != "" && o.Value != template.DefaultRevision && a.problem == nil {
		a.problem = o.Problem("is %s; write the name of a revision, which %s, or %s for the template itself", finding.Quote(o.Value), wrong, template.DefaultRevision)
	}
}

// key returns the name of the requested template or revision in a Set.
func (a *ask) key() string { return template.RevisionName(a.template, a.revision) }

// missing returns the problem of a requested template or revision that does not
// exist.
func (a *ask) missing(set *Set) finding.Finding {
	if a.revision == "" || a.revision == template.DefaultRevision {
		return finding.Denial(reason.TemplateMissing, "", fmt.Sprintf("%s asks for the template %q, which does not exist; %s", a.source, a.template, set.known(a.template)))
	}
	by, field := "namespace label "+wellknown.LabelRevisions, ""
	if a.picked != nil {
		by, field = "annotation "+a.picked.Key, "metadata.annotations["+a.picked.Key+"]"
	}
	known := "it has none"
	if revisions := set.Revisions(a.template); len(revisions) > 0 {
		known = "it has " + strings.Join(revisions, ", ")
	}
	return finding.Denial(reason.TemplateMissing, field, fmt.Sprintf("%s selects the revision %q of the template %q, which does not exist; %s", by, a.revision, a.template, known))
}

// Revisions lists the revisions of a template, sorted.
func (s *Set) Revisions(template string) []string {
	if s == nil {
		return nil
	}
	var revisions []string
	for key := range maps.Keys(s.entries) {
		if name, revision, ok := strings.Cut(key, "/"); ok && name == template {
			revisions = append(revisions, revision)
		}
	}
	slices.Sort(revisions)
	return revisions
}

// inheritMandatory returns the entries with every revision of a mandatory template
// mandatory as well: the writer of a pod may pick a revision, and must not escape
// the template's guarantees by that.
func inheritMandatory(entries map[string]Entry) map[string]Entry {
	cloned := false
	for key, entry := range entries {
		name, _, revision := strings.Cut(key, "/")
		if !revision || entry.Template == nil || entry.Template.Options.Mandatory {
			continue
		}
		if of := entries[name].Template; of == nil || !of.Options.Mandatory {
			continue
		}
		if !cloned {
			entries, cloned = maps.Clone(entries), true
		}
		mandatory := *entry.Template
		mandatory.Options.Mandatory = true
		entry.Template = &mandatory
		entries[key] = entry
	}
	return entries
}

// Variants are a template and its revisions, those that can be used.
func (s *Set) Variants(name string) []*template.Template {
	var variants []*template.Template
	for _, revision := range append([]string{""}, s.Revisions(name)...) {
		if known, _ := s.Get(template.RevisionName(name, revision)); known.Template != nil {
			variants = append(variants, known.Template)
		}
	}
	return variants
}

// Mandatory reports whether a template, or one of its revisions, is mandatory.
func (s *Set) Mandatory(name string) bool {
	return slices.ContainsFunc(s.Variants(name), func(t *template.Template) bool { return t.Options.Mandatory })
}

// had returns the version that a pod has according to its record, or that it
// asks for if the record names a version that no longer serves.
func (s *Set) had(template string, entry RecordEntry, asks []ask) *template.Template {
	variants := s.Variants(template)
	if at := slices.IndexFunc(variants, entry.current); at >= 0 {
		return variants[at]
	}
	key := template
	if a := find(asks, template); a != nil {
		key = a.key()
	}
	known, _ := s.Get(key)
	if known.Template == nil { // the revision was deleted
		known, _ = s.Get(template)
	}
	return known.Template
}
