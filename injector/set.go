package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/suggest"
)

// A Set is the available templates, with what is known about combinations of
// them. It is immutable.
type Set struct {
	entries map[string]Entry
	names   []string
	pairs   map[[2]string][]finding.Finding
	// matches are the templates with options.match, by name, and mandatory names
	// the templates of which a revision is mandatory.
	matches   []*template.Template
	mandatory []string
	// rank is the position of each template in the order in which a pod gets them;
	// nil if that is the order of the names.
	rank map[string]int
	// reads are the keys of the pods' labels that matches read, and labelers the
	// versions of templates that give such a label.
	reads    map[string]bool
	labelers []*template.Template
}

// An Entry is a template, or the reason why it is invalid. If an invalid
// template replaced a valid one, the entry has both, and the last valid version
// serves.
type Entry struct {
	Template *template.Template
	Err      error
	// ConfigMap is the name of the ConfigMap that holds the template.
	ConfigMap string
	// Replaced are the earlier versions of Template, the latest first.
	Replaced []Replaced
}

// A Replaced is a version of a template that another one replaced.
type Replaced struct {
	Template *template.Template
	At       time.Time
}

// ReplacedFor is how long a replaced version of a mandatory template stays
// valid, because an edit does not reach all replicas of usher at once.
const ReplacedFor = time.Minute

// versions returns the versions that are valid at a time: the current one, and
// those that were replaced shortly before.
func (e *Entry) versions(now time.Time) []*template.Template {
	versions := []*template.Template{e.Template}
	for _, r := range e.Replaced {
		if !now.IsZero() && now.Sub(r.At) < ReplacedFor {
			versions = append(versions, r.Template)
		}
	}
	return versions
}

// concerns reports whether an ask is about a mandatory template, or about an
// unknown one.
func (s *Set) concerns(a ask) bool {
	entry, known := s.Get(a.key())
	if !known {
		return !a.refused && a.problem == nil || s.Mandatory(a.template)
	}
	return entry.Template != nil && entry.Template.Options.Mandatory
}

// NewSet returns the set of the entries by the templates' names. It tests every
// pair of templates once, so that a decision about a pod with an incompatible
// pair is cheap.
func NewSet(entries map[string]Entry) *Set { return newSet(entries, nil) }

func newSet(entries map[string]Entry, known *Set) *Set {
	entries = inheritMandatory(entries)
	s := &Set{entries: entries, pairs: map[[2]string][]finding.Finding{}}
	for name := range entries {
		if !strings.Contains(name, "/") { // a revision takes the place of its template
			s.names = append(s.names, name)
		}
	}
	slices.Sort(s.names)
	for _, name := range s.names {
		if t := entries[name].Template; t != nil && t.Options.Match != nil {
			s.matches = append(s.matches, t)
		}
		if s.Mandatory(name) {
			s.mandatory = append(s.mandatory, name)
		}
	}
	s.readLabels()
	s.rank = s.ranks()
	for i, a := range s.names {
		for _, b := range s.names[i+1:] {
			first, second := entries[a].Template, entries[b].Template
			if first == nil || second == nil {
				continue
			}
			pair := [2]string{a, b}
			var problems []finding.Finding
			if s.rank[a] > s.rank[b] {
				first, second = second, first
			} else if known != nil && known.rank[a] <= known.rank[b] && known.entries[a].Template == first && known.entries[b].Template == second {
				if problems = known.pairs[pair]; len(problems) > 0 {
					s.pairs[pair] = problems
				}
				continue
			}
			if problems = together(first, second); len(problems) > 0 {
				s.pairs[pair] = problems
			}
		}
	}
	return s
}

// Get returns the entry of a template, or of a revision by <template>/<revision>.
func (s *Set) Get(name string) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	e, ok := s.entries[name]
	return e, ok
}

// Names lists the templates, sorted, without their revisions.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// With returns the set with a template added or replaced.
func (s *Set) With(t *template.Template) *Set {
	entries := maps.Clone(s.entries)
	if entries == nil {
		entries = map[string]Entry{}
	}
	entries[t.Name] = Entry{Template: t}
	return s.Replace(entries)
}

// Replace returns the set of other entries, and tests only the pairs that this
// set does not have.
func (s *Set) Replace(entries map[string]Entry) *Set { return newSet(entries, s) }

// Conflicts describes the pairs of templates that no pod can have together: all
// of them, or those of one template.
func (s *Set) Conflicts(of ...string) []string {
	var lines []string
	for _, a := range s.names {
		for _, b := range s.names {
			if len(of) > 0 && !slices.Contains(of, a) && !slices.Contains(of, b) {
				continue
			}
			for _, p := range s.pairs[[2]string{a, b}] {
				lines = append(lines, fmt.Sprintf("templates %s and %s cannot be injected together: %s: %s", a, b, p.Reason, p.Message))
			}
		}
	}
	return lines
}

// known names the templates for a message about a missing one: that whose name
// is most like it, or otherwise some.
func (s *Set) known(missing string) string {
	const most = 5
	names := s.Names()
	nearest := suggest.Nearest(missing, names)
	switch {
	case nearest != "":
		return "did you mean " + nearest + "?"
	case len(names) == 0:
		return "usher has no templates"
	case len(names) > most:
		return fmt.Sprintf("available templates: %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "available templates: " + strings.Join(names, ", ")
}

// together returns what prevents a pod from having both entries. For templates
// the set knows it, and for revisions together tests the pair.
func (s *Set) together(a, b string) []finding.Finding {
	if !strings.Contains(a, "/") && !strings.Contains(b, "/") {
		return s.pairs[[2]string{min(a, b), max(a, b)}]
	}
	first, second := s.entries[a].Template, s.entries[b].Template
	if first == nil || second == nil {
		return nil
	}
	return together(first, second)
}

// together returns what prevents a pod from having both templates.
func together(a, b *template.Template) []finding.Finding {
	m := &merge{pod: &podjson.Pod{Spec: &podjson.Spec{}}}
	first := m.compare(a, nil, template.Ordinary, nil)
	m.addMissing(&first)
	second := m.compare(b, nil, template.Ordinary, nil)
	problems := second.conflicts()
	if a.Parameterized() || b.Parameterized() {
		problems = slices.DeleteFunc(problems, func(f finding.Finding) bool { return mayDepend(f.Reason) })
	}
	for i := range problems {
		problems[i].Field = "" // the field belongs to a pod that does not exist yet
	}
	return problems
}

// mayDepend reports whether a conflict of two templates may depend on the values of
// their parameters; then each pod shows it.
func mayDepend(r reason.Reason) bool {
	return r == reason.ConflictHostPort || r == reason.ConflictMetadata || r == reason.ConflictEnv
}

// MayMatch reports whether a template's match may select pods of a namespace with
// these labels.
func (s *Set) MayMatch(namespaceLabels map[string]string) bool {
	return s != nil && slices.ContainsFunc(s.matches, func(t *template.Template) bool {
		return t.Options.Match.Namespaces().Matches(labels.Set(namespaceLabels))
	})
}

// Matches lists the templates with a match, by name.
func (s *Set) Matches() []*template.Template {
	if s == nil {
		return nil
	}
	return s.matches
}
