// Package servererrors explains what the API server refuses: the harm, and what to
// write instead, by the field and the text of its error. The server's own code
// in package apiserver decides what it refuses; this package contains only
// texts.
package servererrors

import (
	"slices"
	"strings"

	"github.com/usher-dev/usher/kinds"
)

// A Refusal explains the server's errors about some fields.
type Refusal struct {
	// ID is its name in kebab-case, used like those of rules.
	ID string
	// Kinds are the kinds that it applies to; nil means all.
	Kinds []string
	// Fields are paths without indexes, empty for any field. An explanation also
	// applies to fields below these; the longest path that matches an error
	// explains it. "pod" is the specification of the pods, "labels" that of their
	// metadata, and "job" that of the object's Jobs, wherever it has them.
	Fields []string
	// Says, if set, are parts of the texts of the errors that it applies to.
	Says []string
	// Summary says in one line what is wrong, Harm describes the consequences, and
	// Fix what to write instead.
	Summary, Harm, Fix string
}

// Find explains an error about a field of a kind.
func Find(kind, field, message string) *Refusal {
	path := normal(kind, field)
	best := Lookup(Other)
	length := -1
	for i := range table {
		r := &table[i]
		if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, kind) || !r.says(message) {
			continue
		}
		for _, f := range r.Fields {
			if weight := 2*len(f) + min(1, len(r.Says)); under(path, f) && weight > length {
				best, length = r, weight
			}
		}
	}
	return best
}

// All returns the explanations, ordered by id.
func All() []Refusal { return slices.Clone(table) }

// Lookup finds an explanation by its id, or returns nil.
func Lookup(id string) *Refusal {
	if i := slices.IndexFunc(table, func(r Refusal) bool { return r.ID == id }); i >= 0 {
		return &table[i]
	}
	return nil
}

// Known reports whether an explanation has an id.
func Known(id string) bool { return Lookup(id) != nil }

func (r *Refusal) says(message string) bool {
	return len(r.Says) == 0 || slices.ContainsFunc(r.Says, func(words string) bool { return strings.Contains(message, words) })
}

func under(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.')
}

// shared returns a field's path with the specification of the pods under "pod",
// their metadata under "labels", and the specification of Jobs under "job".
func shared(k *kinds.Kind, path string) string {
	template := strings.Join(k.Template(), ".")
	var parts [][2]string
	switch {
	case k.Is(kinds.Pods) && template == "":
		parts = [][2]string{{"spec", "pod"}}
	case k.Is(kinds.Pods):
		parts = [][2]string{{template + ".spec", "pod"}, {template + ".metadata", "labels"}}
	}
	if template == "spec.template" {
		parts = append(parts, [2]string{"spec.template.labels", "labels.labels"}, [2]string{"spec.template.annotations", "labels.annotations"})
	}
	if k.Is(kinds.Ends) {
		parts = append(parts, [2]string{strings.TrimSuffix(template, ".template"), "job"})
	}
	for _, part := range parts {
		if under(path, part[0]) {
			return part[1] + strings.TrimPrefix(path, part[0])
		}
	}
	return path
}

// normal returns a field without its indexes, with the pods' fields under one
// path.
func normal(kind, field string) string {
	var b strings.Builder
	depth := 0
	for _, r := range field {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	path := shared(kinds.Named(kind), b.String())
	for _, list := range []string{"initContainers", "ephemeralContainers"} {
		if under(path, "pod."+list) {
			return "pod.containers" + strings.TrimPrefix(path, "pod."+list)
		}
	}
	return path
}
