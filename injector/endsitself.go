package injector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// EndsItself describes the chains of templates in which the labels of a template,
// or of those that it makes selected, end the template's own selector. The
// template stays selected, but the pod's labels no longer show why. Only the
// chains with a template that is about to be applied are reported.
func (s *Set) EndsItself(with *template.Template) []string {
	set := s.including(with)
	var lines []string
	for _, t := range set.Matches() {
		if c := set.chain(t); c != nil && c.has(with.Name) {
			lines = append(lines, c.String())
		}
	}
	return lines
}

// A link is a template in a chain, which a label of the link before it selects.
type link struct {
	template *template.Template
	from     *link        // nil at the template whose selector ends
	by       podjson.Pair // the label of from that selects the template
	// added are the labels of the links up to this one, and wanted what a pod must
	// have itself to get all of them.
	added  labels.Set
	wanted labels.Requirements
}

// chain returns the shortest chain that begins with a template and ends its
// selector; nil if there is none.
func (s *Set) chain(t *template.Template) *chain {
	visited := map[string]bool{t.Name: true}
	for reached := []*link{{template: t, wanted: requirementsOf(t)}}; len(reached) > 0; reached = reached[1:] {
		l := reached[0]
		if ends, violated := l.add(s, t); violated != nil {
			return &chain{l, ends, *violated}
		}
		for _, u := range s.Matches() {
			if next := l.next(s, t, u); next != nil && !visited[u.Name] {
				visited[u.Name] = true
				reached = append(reached, next)
			}
		}
	}
	return nil
}

// add adds the labels that the template gives to a pod that it selects. It
// returns the label that ends the selector of the chain's first template, with
// the requirement that it violates.
func (l *link) add(s *Set, first *template.Template) (ends podjson.Pair, violated *labels.Requirement) {
	l.added = maps.Clone(l.added)
	if l.added == nil {
		l.added = labels.Set{}
	}
	for _, p := range s.labelsOf(l.template.Name) {
		if l.added.Has(p.Key) || !satisfiable(append(slices.Clone(l.wanted), withoutLabel(p.Key))) {
			continue // the pod has a value before, and that one wins
		}
		l.added[p.Key] = p.Value
		l.wanted = append(slices.Clone(l.wanted), withoutLabel(p.Key))
		for _, r := range requirementsOf(first) {
			if r.Key() == p.Key && r.Matches(labels.Set{}) && !r.Matches(labels.Set{p.Key: p.Value}) {
				return p, &r
			}
		}
	}
	return podjson.Pair{}, nil
}

// next returns the link to a template that the labels so far select on a pod that
// the chain's first template selects; nil if they do not.
func (l *link) next(s *Set, first, u *template.Template) *link {
	next := &link{template: u, from: l, added: l.added, wanted: slices.Clone(l.wanted)}
	for _, r := range requirementsOf(u) {
		value, given := l.added[r.Key()]
		switch {
		case given && !r.Matches(labels.Set{r.Key(): value}):
			return nil
		case given && !r.Matches(labels.Set{}):
			if own := (podjson.Pair{Key: r.Key(), Value: value}); next.by.Key == "" && slices.Contains(s.labelsOf(l.template.Name), own) {
				next.by = own
			}
		case !given:
			next.wanted = append(next.wanted, r)
		}
	}
	namespaces := slices.Concat(namespaceRequirements(first.Options.Match), namespaceRequirements(u.Options.Match))
	if next.by.Key == "" || !satisfiable(next.wanted) || !satisfiable(namespaces) || !sameKind(first.Options.Match.Kinds, u.Options.Match.Kinds) {
		return nil
	}
	return next
}

// A chain ends the selector of its first template with a label of its last link.
type chain struct {
	last     *link
	ends     podjson.Pair
	violated labels.Requirement
}

// links lists the links, the first template first.
func (c *chain) links() []*link {
	var links []*link
	for l := c.last; l != nil; l = l.from {
		links = append(links, l)
	}
	slices.Reverse(links)
	return links
}

// has reports whether a template is part of the chain.
func (c *chain) has(template string) bool {
	return slices.ContainsFunc(c.links(), func(l *link) bool { return l.template.Name == template })
}

func (c *chain) String() string {
	links := c.links()
	var steps []string
	for i, l := range links {
		if i > 0 {
			steps = append(steps, fmt.Sprintf("the template %s sets the label %s: %s, which selects the template %s", l.from.template.Name, l.by.Key, l.by.Value, l.template.Name))
		}
	}
	steps = append(steps, fmt.Sprintf("the template %s sets the label %s: %s", c.last.template.Name, c.ends.Key, c.ends.Value))
	return fmt.Sprintf("%s, and options.match of the template %s selects only pods with %s: the pod gets the template all the same, but its labels no longer match; remove the requirement, or the label",
		strings.Join(steps, ", "), links[0].template.Name, c.violated.String())
}

// labelsOf lists the labels of a template and its revisions.
func (s *Set) labelsOf(template string) []podjson.Pair {
	var pairs []podjson.Pair
	for _, t := range s.Variants(template) {
		pairs = append(pairs, t.FixedLabels()...)
	}
	return pairs
}

// requirementsOf are what a template's match requires of a pod's labels.
func requirementsOf(t *template.Template) labels.Requirements {
	requirements, _ := t.Options.Match.Pods().Requirements()
	return requirements
}

// namespaceRequirements are what a match requires of a namespace's labels.
func namespaceRequirements(m *template.Match) labels.Requirements {
	requirements, _ := m.Namespaces().Requirements()
	return requirements
}

// withoutLabel requires that a pod does not have a label.
func withoutLabel(key string) labels.Requirement {
	r, _ := labels.NewRequirement(key, selection.DoesNotExist, nil) // the key of a label is valid
	return *r
}

// satisfiable reports whether an object can have labels that meet all
// requirements.
func satisfiable(requirements labels.Requirements) bool {
	return !slices.ContainsFunc(requirements, func(one labels.Requirement) bool {
		other := "-" // is not a valid value, so no requirement lists it
		tries := []labels.Set{{}, {one.Key(): other}}
		for _, r := range requirements {
			if r.Key() != one.Key() {
				continue
			}
			for _, value := range r.ValuesUnsorted() {
				tries = append(tries, labels.Set{one.Key(): value})
			}
		}
		return !slices.ContainsFunc(tries, func(have labels.Set) bool {
			return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() == one.Key() && !r.Matches(have) })
		})
	})
}

// sameKind reports whether two matches can select pods of one kind of controller.
func sameKind(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(kind string) bool { return slices.Contains(b, kind) })
}
