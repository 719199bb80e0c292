package injector

import (
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
)

// OwnLabels returns the labels of a pod that are its own, among the labels that
// some match reads; all others are included. A label is not the pod's own if it
// comes from a template
//
//   - that the record names, in the version that the record names. If the set
//     does not have this version, every value of a label counts that any version
//     of the template sets. The labels of a deleted template are the pod's own.
//   - that no record names, but whose containers are recognizably in the pod. The
//     metadata does not show them.
//
// A label whose key wellknown.AnnotationOwnLabels lists is the pod's own.
func (s *Set) OwnLabels(labels, annotations map[string]string) map[string]string {
	record, _ := ParseRecord(annotations) // an unreadable record is treated as empty
	return s.ownLabels(labels, annotations[wellknown.AnnotationOwnLabels], record, nil)
}

// ownLabels are OwnLabels; recognized reports whether the pod has all containers
// of a template, recognizably, and is nil if only the metadata is known.
func (s *Set) ownLabels(labels map[string]string, list string, record Record, recognized func(*Template) bool) map[string]string {
	if s == nil || len(s.givers) == 0 || len(labels) == 0 || len(record) == 0 && recognized == nil {
		return labels
	}
	kept := keysOf(list)
	own := labels
	for _, giver := range s.givers {
		entry, named := record[giver.Name]
		known := named && s.knows(giver.Name, entry.Content)
		if named && known && giver.content != entry.Content {
			continue
		}
		found := false
		for _, p := range giver.labels {
			value, has := labels[p.key]
			switch {
			case !has || !s.reads[p.key] || slices.Contains(kept, p.key):
				continue
			case (known || !named) && value != p.value:
				continue
			case !named && !found && (recognized == nil || !recognized(giver)):
			default:
				if !found && len(own) == len(labels) {
					own = maps.Clone(labels)
				}
				found = true
				delete(own, p.key)
			}
		}
	}
	return own
}

// keysOf splits a list of keys.
func keysOf(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// knows reports whether the set has the version of a template with some content.
func (s *Set) knows(template, content string) bool {
	return slices.ContainsFunc(s.givers, func(t *Template) bool { return t.Name == template && t.content == content }) ||
		slices.ContainsFunc(s.Variants(template), func(t *Template) bool { return t.content == content })
}

// readLabels finds the labels that matches read, and the versions of templates
// that give such a label.
func (s *Set) readLabels() {
	s.reads = map[string]bool{}
	for _, t := range s.matches {
		requirements, _ := t.Options.Match.pods.Requirements()
		for _, r := range requirements {
			s.reads[r.Key()] = true
		}
	}
	if len(s.reads) == 0 {
		return
	}
	gives := func(t *Template) bool {
		return t != nil && slices.ContainsFunc(t.labels, func(p pair) bool { return s.reads[p.key] })
	}
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		entry := s.entries[name]
		if gives(entry.Template) {
			s.givers = append(s.givers, entry.Template)
		}
		for _, r := range entry.Replaced {
			if gives(r.Template) {
				s.givers = append(s.givers, r.Template)
			}
		}
	}
}

// keepOwn notes the labels that count as the pod's own now, and that would not
// with the new record.
func (d *decision) keepOwn() {
	r := &d.request
	if !d.recorded || r.Templates == nil || len(r.Templates.givers) == 0 {
		return
	}
	labels, list := d.merge.pod.labels(), d.merge.pod.annotations()[wellknown.AnnotationOwnLabels]
	before, _ := ParseRecord(d.merge.pod.annotations()) // it was read before
	own, later := r.Templates.ownLabels(labels, list, before, d.recognized), r.Templates.ownLabels(labels, list, d.record, d.recognized)
	kept := keysOf(list)
	n := len(kept)
	for key := range own {
		if _, still := later[key]; !still {
			kept = append(kept, key)
		}
	}
	if len(kept) > n {
		slices.Sort(kept)
		d.merge.notes = append(d.merge.notes, pair{wellknown.AnnotationOwnLabels, strings.Join(kept, ",")})
	}
}

// recognized reports whether the pod has all containers of a template,
// recognizably.
func (d *decision) recognized(t *Template) bool {
	lacks := func(c container) bool { return !d.merge.has(c.name) }
	if len(t.containers)+len(t.initContainers) == 0 || slices.ContainsFunc(t.containers, lacks) || slices.ContainsFunc(t.initContainers, lacks) {
		return false
	}
	c := comparison{template: t, pod: d.merge}
	c.containers(nil)
	return !c.lacksContainer()
}
