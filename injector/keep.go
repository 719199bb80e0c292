package injector

import (
	"fmt"
	"slices"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// keep judges an update: it lists what changes of the named containers, and of
// the labels and annotations that the pod had as the template gives them. It
// compares the pod with itself.
func keep(before, after *comparison, containers []string) []change {
	var changes []change
	t := before.template
	note := func(field, format string, args ...any) {
		changes = append(changes, change{finding.Denial(reason.MandatoryChanged, field, fmt.Sprintf(format, args...)), true})
	}
	for i, name := range containers {
		if slices.Contains(containers[:i], name) {
			continue
		}
		was, is := before.pod.locate(name), after.pod.locate(name)
		switch {
		case was == nil: // the record claims an item that the pod never had
		case is == nil:
			note("spec.containers", "the update removes the container %s of the mandatory template %s", name, t.Name)
		default:
			for _, d := range differences(was.typed, is.typed, after.pod.pod, &t.Options.Tolerate) {
				note(is.field()+"."+d.field, "of the container %s of the mandatory template %s %s as before the update; %s", name, t.Name, d, template.Remedy(d.field))
			}
		}
	}
	for i := range before.matches {
		was, is := &before.matches[i], &after.matches[i]
		had := was.by != absent && len(was.differs) == 0
		changed := is.by == absent || len(is.differs) > 0
		if tolerance := was.kind.tolerance(); had && changed && !t.Options.Tolerate.Any(tolerance) {
			p := before.pair(was)
			note(was.kind.field(p.Key), "is part of the mandatory template %s and %s, and the update changes it; %s", t.Name, finding.Quote(p.Value), template.Remedy(string(tolerance)))
		}
	}
	return changes
}

// resembling names the containers of the pod that may be the template's. An
// override or a tolerance may have changed the image, and an edit of the template
// the other fields, so either is enough.
func (m *merge) resembling(t *template.Template) []string {
	c := comparison{template: t, pod: m}
	c.containers(nil)
	var names []string
	for i := range c.matches {
		if c.matches[i].by >= resembling {
			names = append(names, c.container(&c.matches[i]).Name)
		}
	}
	return names
}

// compareMetadata compares only a pod's labels and annotations with a template.
func (m *merge) compareMetadata(t *template.Template) comparison {
	c := comparison{template: t, pod: m}
	c.metadata(false)
	return c
}
