package injector

import (
	"maps"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
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
func (s *Set) ownLabels(labels map[string]string, list string, record Record, recognized func(*template.Template) bool) map[string]string {
	if s == nil || len(s.labelers) == 0 || len(labels) == 0 || len(record) == 0 && recognized == nil {
		return labels
	}
	kept := keysOf(list)
	own := labels
	for _, giver := range s.labelers {
		entry, named := record[giver.Name]
		known := named && s.knows(giver.Name, entry.Content)
		if named && known && giver.Content != entry.Content {
			continue
		}
		found := false
		for _, p := range giver.Labels {
			value, has := labels[p.Key]
			switch {
			case !has || !s.reads[p.Key] || slices.Contains(kept, p.Key):
				continue
			case (known || !named) && value != p.Value && giver.FixedLabel(p.Key):
				continue
			case !named && !found && (recognized == nil || !recognized(giver)):
			default:
				if !found && len(own) == len(labels) {
					own = maps.Clone(labels)
				}
				found = true
				delete(own, p.Key)
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
func (s *Set) knows(name, content string) bool {
	return slices.ContainsFunc(s.labelers, func(t *template.Template) bool { return t.Name == name && t.Content == content }) ||
		slices.ContainsFunc(s.Variants(name), func(t *template.Template) bool { return t.Content == content })
}

// readLabels finds the labels that matches read, and the versions of templates
// that give such a label.
func (s *Set) readLabels() {
	s.reads = map[string]bool{}
	for _, t := range s.matches {
		requirements, _ := t.Options.Match.Pods().Requirements()
		for _, r := range requirements {
			s.reads[r.Key()] = true
		}
	}
	if len(s.reads) == 0 {
		return
	}
	gives := func(t *template.Template) bool {
		return t != nil && slices.ContainsFunc(t.Labels, func(p podjson.Pair) bool { return s.reads[p.Key] })
	}
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		entry := s.entries[name]
		if gives(entry.Template) {
			s.labelers = append(s.labelers, entry.Template)
		}
		for _, r := range entry.Replaced {
			if gives(r.Template) {
				s.labelers = append(s.labelers, r.Template)
			}
		}
	}
}

// keepOwn notes the labels that count as the pod's own now, and that would not
// with the new record.
func (d *decider) keepOwn() {
	r := &d.request
	if !d.recorded || r.Templates == nil || len(r.Templates.labelers) == 0 {
		return
	}
	labels, list := d.merge.pod.Labels(), d.merge.pod.Annotations()[wellknown.AnnotationOwnLabels]
	before, _ := ParseRecord(d.merge.pod.Annotations()) // it was read before
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
		d.merge.notes = append(d.merge.notes, podjson.Pair{Key: wellknown.AnnotationOwnLabels, Value: strings.Join(kept, ",")})
	}
}

// recognized reports whether the pod has all containers of a template,
// recognizably.
func (d *decider) recognized(t *template.Template) bool {
	lacks := func(c template.Container) bool { return !d.merge.has(c.Name) }
	if len(t.Containers)+len(t.InitContainers) == 0 || slices.ContainsFunc(t.Containers, lacks) || slices.ContainsFunc(t.InitContainers, lacks) {
		return false
	}
	c := comparison{template: d.asInPod(t), pod: d.merge}
	c.containers(nil)
	return !c.lacksContainer()
}
