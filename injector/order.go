package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

// ranks returns the position of each template in the order in which a pod gets
// them: after those that options.after names, otherwise by name. It is nil if no
// template has options.after. A template in a cycle, which can exist only if
// templates were applied while usher was down, follows those that are in none.
func (s *Set) ranks() map[string]int {
	waits := s.after()
	if len(waits) == 0 {
		return nil
	}
	ranks := make(map[string]int, len(s.names))
	for len(ranks) < len(s.names) {
		next := slices.IndexFunc(s.names, func(name string) bool { return !has(ranks, name) && s.free(waits[name], ranks) })
		if next < 0 {
			next = slices.IndexFunc(s.names, func(name string) bool { return !has(ranks, name) })
		}
		ranks[s.names[next]] = len(ranks)
	}
	return ranks
}

// after returns the templates that options.after of each template names, or of its
// revisions.
func (s *Set) after() map[string][]string {
	var after map[string][]string
	for _, name := range s.names {
		for _, t := range s.Variants(name) {
			if len(t.Options.After) == 0 {
				continue
			}
			if after == nil {
				after = map[string][]string{}
			}
			after[name] = append(after[name], t.Options.After...)
		}
	}
	return after
}

// free reports whether the templates that another one waits for have a rank. It
// waits for no template that does not exist.
func (s *Set) free(waits []string, ranks map[string]int) bool {
	return !slices.ContainsFunc(waits, func(name string) bool { return !has(ranks, name) && slices.Contains(s.names, name) })
}

func has[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

// sort brings the asks into the order in which a pod gets the templates.
func (s *Set) sort(asks []ask) {
	if s == nil || s.rank == nil {
		return
	}
	slices.SortStableFunc(asks, func(a, b ask) int { return s.rank[a.template] - s.rank[b.template] })
}

// sortOutcomes brings the outcomes into the order of the templates' names.
func (d *decider) sortOutcomes() {
	if s := d.request.Templates; d.unaskedLast || s != nil && s.rank != nil {
		slices.SortStableFunc(d.Outcomes, func(a, b decision.Outcome) int { return strings.Compare(a.Template, b.Template) })
	}
}

// CheckAfter lists what is wrong with options.after of a template that is about to
// be applied: the names of templates that do not exist, and a cycle.
func (s *Set) CheckAfter(t *template.Template) (unknown []string, cycle *finding.Finding) {
	if len(t.Options.After) == 0 {
		return nil, nil
	}
	with := s.including(t)
	for _, name := range t.Options.After {
		if _, known := with.Get(name); !known {
			unknown = append(unknown, name)
		}
	}
	waits := with.after()
	if path := cycleOf(t.Name, waits); path != nil {
		cycle = &finding.Finding{Field: AfterField, Message: fmt.Sprintf("is a cycle: %s; remove one of them", strings.Join(path, " is after "))}
	}
	return unknown, cycle
}

// Known describes the templates, for a message about a name that does not exist.
func (s *Set) Known(missing string) string { return s.known(missing) }

// AfterField is the field of a ConfigMap that names the templates before another.
const AfterField = "data.options.after"

// cycleOf returns the shortest way from a template back to itself.
func cycleOf(name string, waits map[string][]string) []string {
	visited := map[string]bool{}
	for paths := [][]string{{name}}; len(paths) > 0; paths = paths[1:] {
		path := paths[0]
		for _, next := range waits[path[len(path)-1]] {
			if next == name {
				return append(slices.Clone(path), name)
			}
			if !visited[next] {
				visited[next] = true
				paths = append(paths, append(slices.Clone(path), next))
			}
		}
	}
	return nil
}

// including returns the set with a template or a revision that is about to be
// applied.
func (s *Set) including(t *template.Template) *Set {
	entries := map[string]Entry{}
	if s != nil {
		maps.Copy(entries, s.entries)
	}
	entries[template.RevisionName(t.Name, t.Revision)] = Entry{Template: t}
	return s.Replace(entries)
}
