package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
)

const (
	// RevisionKey follows a template's name in the annotation by which a pod
	// selects a revision, which takes precedence over its namespace:
	// inject.usher.dev/<template>.revision.
	RevisionKey = "revision"
	// DefaultRevision is the name of the template itself, for a pod that opts out of
	// its namespace's revision.
	DefaultRevision = "default"
)

// RevisionName returns the name of a revision in a Set, <template>/<revision>,
// or that of the template itself.
func RevisionName(template, revision string) string {
	if revision == "" || revision == DefaultRevision {
		return template
	}
	return template + "/" + revision
}

// checkRevision adds the problems of a template that is a revision.
func (t *Template) checkRevision(bad *InvalidTemplate) {
	if t.Revision == "" {
		return
	}
	if t.Options.Match != nil {
		bad.add("data.options.match", 0, "is in a revision; write it in the template %s itself, which decides who gets a template", t.Name)
	}
	if t.Options.Heal {
		bad.add("data.options.heal", 0, "is in a revision; write it in the template %s itself, which decides what is healed", t.Name)
	}
}

// validRevision returns what is wrong with a revision's name, or "".
func validRevision(revision string) string {
	switch {
	case revision == DefaultRevision:
		return "is the name of the template itself"
	case len(validation.IsDNS1123Label(revision)) > 0:
		return "must be lower case letters, digits and '-', beginning and ending with a letter or digit, at most 63"
	}
	return ""
}

// Picked is the revisions that a namespace's label selects, by template. If the
// label is invalid, it selects no revision, and the pods are denied.
func Picked(label string) (map[string]string, error) {
	picked := map[string]string{}
	if label == "" {
		return picked, nil
	}
	for pick := range strings.SplitSeq(label, "_") {
		template, revision, ok := strings.Cut(pick, ".")
		wrong := ValidTemplateName(template)
		if wrong == "" && revision != DefaultRevision {
			wrong = validRevision(revision)
		}
		if !ok || wrong != "" {
			return nil, fmt.Errorf("has %s; write <template>.<revision>, and several separated by '_'", quote(pick))
		}
		if _, twice := picked[template]; twice {
			return nil, fmt.Errorf("selects two revisions of the template %s; keep one of them", quote(template))
		}
		picked[template] = revision
	}
	return picked, nil
}

// pickRevisions sets the revision of each ask from the namespace's label,
// unless the pod selects one.
func pickRevisions(asks []ask, label string) {
	if label == "" {
		return
	}
	picked, err := Picked(label)
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
func (a *ask) pick(o *override) {
	a.picked, a.revision = o, o.value
	if wrong := validRevision(o.value); wrong != "" && o.value != DefaultRevision && a.problem == nil {
		a.problem = o.problem("is %s; write the name of a revision, which %s, or %s for the template itself", quote(o.value), wrong, DefaultRevision)
	}
}

// key returns the name of the requested template or revision in a Set.
func (a *ask) key() string { return RevisionName(a.template, a.revision) }

// missing returns the problem of a requested template or revision that does not
// exist.
func (a *ask) missing(set *Set) finding.Finding {
	if a.revision == "" || a.revision == DefaultRevision {
		return finding.Denial(reason.TemplateMissing, "", fmt.Sprintf("%s asks for the template %q, which does not exist; %s", a.source, a.template, set.known(a.template)))
	}
	by, field := "namespace label "+wellknown.LabelRevisions, ""
	if a.picked != nil {
		by, field = "annotation "+a.picked.key, "metadata.annotations["+a.picked.key+"]"
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
func (s *Set) Variants(template string) []*Template {
	var variants []*Template
	for _, revision := range append([]string{""}, s.Revisions(template)...) {
		if known, _ := s.Get(RevisionName(template, revision)); known.Template != nil {
			variants = append(variants, known.Template)
		}
	}
	return variants
}

// Mandatory reports whether a template, or one of its revisions, is mandatory.
func (s *Set) Mandatory(template string) bool {
	return slices.ContainsFunc(s.Variants(template), func(t *Template) bool { return t.Options.Mandatory })
}

// had returns the version that a pod has according to its record, or that it
// asks for if the record names a version that no longer serves.
func (s *Set) had(template string, entry RecordEntry, asks []ask) *Template {
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
