package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/finding"
)

// A Set is the templates there are, with what is known of them together. It is
// not changed after it was made.
type Set struct {
	entries map[string]Entry
	names   []string
	pairs   map[[2]string][]finding.Finding
	// matches are the templates with options.match, by name.
	matches []*Template
}

// An Entry is a template, or why it cannot be used. A template that was
// replaced by one that cannot be used has both: the last good version serves.
type Entry struct {
	Template *Template
	Err      error
	// ConfigMap is the name of the ConfigMap that holds the template.
	ConfigMap string
	// Replaced are the versions that Template took the place of, the latest first.
	Replaced []Replaced
}

// A Replaced is a version of a template that another one took the place of.
type Replaced struct {
	Template *Template
	At       time.Time
}

// ReplacedFor is how long a replaced version of a mandatory template counts: an
// edit reaches the replicas of usher one after the other.
const ReplacedFor = time.Minute

// versions are those that count at a time: the one that serves, and those that
// were replaced a short while ago.
func (e *Entry) versions(now time.Time) []*Template {
	versions := []*Template{e.Template}
	for _, r := range e.Replaced {
		if !now.IsZero() && now.Sub(r.At) < ReplacedFor {
			versions = append(versions, r.Template)
		}
	}
	return versions
}

// concerns reports whether an ask is about a mandatory template, or about one
// that is not known.
func (s *Set) concerns(a ask) bool {
	entry, known := s.Get(a.key())
	if !known {
		return !a.refused && a.problem == nil || s.Mandatory(a.template)
	}
	return entry.Template != nil && entry.Template.Options.Mandatory
}

// NewSet returns the set of the entries by the templates' names. Every pair is
// tried together once, here, so that a pod that asks for two that cannot go
// together is told so at no cost.
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
	}
	for i, a := range s.names {
		for _, b := range s.names[i+1:] {
			first, second := entries[a].Template, entries[b].Template
			if first == nil || second == nil {
				continue
			}
			pair := [2]string{a, b}
			var problems []finding.Finding
			if known != nil && known.entries[a].Template == first && known.entries[b].Template == second {
				problems = known.pairs[pair]
			} else {
				problems = together(first, second)
			}
			if len(problems) > 0 {
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
func (s *Set) With(t *Template) *Set {
	entries := maps.Clone(s.entries)
	if entries == nil {
		entries = map[string]Entry{}
	}
	entries[t.Name] = Entry{Template: t}
	return s.Replace(entries)
}

// Replace returns the set of other entries, trying only those pairs together
// that this set has not.
func (s *Set) Replace(entries map[string]Entry) *Set { return newSet(entries, s) }

// Conflicts describes the pairs of templates that no pod can have together,
// all of them or those of one template.
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

// known names the templates for a message about one that is missing.
func (s *Set) known() string {
	const most = 5
	names := s.Names()
	switch {
	case len(names) == 0:
		return "there are no templates"
	case len(names) > most:
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "there is " + strings.Join(names, ", ")
}

// together lists what keeps two of the set's entries out of one pod. Of templates it
// is known, revisions are tried.
func (s *Set) together(a, b string) []finding.Finding {
	if !strings.Contains(a, "/") && !strings.Contains(b, "/") {
		return s.pairs[[2]string{a, b}]
	}
	first, second := s.entries[a].Template, s.entries[b].Template
	if first == nil || second == nil {
		return nil
	}
	return together(first, second)
}

// together lists what keeps two templates out of one pod.
func together(a, b *Template) []finding.Finding {
	m := &merge{pod: &pod{Spec: &podSpec{}}}
	m.add(a, ordinary)
	problems := m.conflicts(b)
	for i := range problems {
		problems[i].Field = "" // there is no pod yet whose field it could be
	}
	return problems
}
