package injector

import (
	"maps"

	"github.com/usher-dev/usher/injector/template"
)

// Applied returns the set as it is after a template, or a revision, was applied.
func (s *Set) Applied(t *template.Template) *Set {
	entries := map[string]Entry{}
	if s != nil {
		maps.Copy(entries, s.entries)
	}
	entries[template.RevisionName(t.Name, t.Revision)] = Entry{Template: t}
	return newSet(entries, s)
}
