package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/policies"
)

// An origin maps the fields of an injected object to the fields that the user
// wrote.
type origin struct {
	// written is the object as the user wrote it.
	written Object
	was, is *policies.PodTemplate
	// spec is the path of the pod's specification, with a trailing dot.
	spec string
	// natives counts the init containers that injection put before the user's.
	natives int
	record  injector.Record
	// templates names every injected template.
	templates string
}

func newOrigin(written, injected Object, d *decision.Decision) *origin {
	o := &origin{written: written}
	var names []string
	for _, outcome := range d.Outcomes {
		if outcome.Reason == reason.Injected {
			names = append(names, outcome.Template)
		}
	}
	o.templates = strings.Join(names, ", ")
	if len(written.Typed.Templates) == 0 || len(injected.Typed.Templates) == 0 {
		return o
	}
	o.was, o.is = &written.Typed.Templates[0], &injected.Typed.Templates[0]
	o.spec = o.was.At("spec").String() + "."
	o.record, _ = injector.ParseRecord(o.is.Meta.Annotations) // injection wrote it
	if own := o.was.Spec.InitContainers; len(own) > 0 {
		first := func(c corev1.Container) bool { return c.Name == own[0].Name }
		o.natives = max(0, slices.IndexFunc(o.is.Spec.InitContainers, first))
	}
	return o
}

// place returns the findings of the injected object with the fields that the
// user wrote. It reuses the messages of findings that the original object had,
// because messages may count containers.
func (o *origin) place(found, before []finding.Finding) []finding.Finding {
	type key struct{ rule, field string }
	earlier := map[key][]finding.Finding{}
	for _, f := range before {
		k := key{f.Rule, f.Field}
		earlier[k] = append(earlier[k], f)
	}
	placed := make([]finding.Finding, len(found))
	for i, f := range found {
		at, item, by := o.find(f.Field)
		k := key{f.Rule, at}
		old := earlier[k]
		switch {
		case by == "" && len(old) > 0:
			earlier[k] = old[1:]
			f = old[0]
		case by != "" && f.RefusedByServer:
			_, _, rest, _ := itemOf(f.Field, o.spec)
			f.Message = strings.TrimPrefix(rest, ".") + ": " + f.Message + " (" + item + ", added by the template " + by + ")"
		case by != "":
			f.Append(" (" + item + ", added by the template " + by + ")")
		case o.templates != "":
			f.Append(" (after the injection of " + o.templates + ")")
		}
		f.Field = at
		placed[i] = f
	}
	return placed
}

// find maps a field of the injected object to the field that the user wrote.
// For a field of an injected item it returns the item and the template; by is
// "" if the user wrote the field.
func (o *origin) find(field string) (at, item, by string) {
	list, i, rest, ok := itemOf(field, o.spec)
	if o.is == nil || !ok {
		return field, "", ""
	}
	was, is := items(o.was.Spec, list), items(o.is.Spec, list)
	if i >= len(is) {
		return field, "", ""
	}
	before := 0
	if list == "initContainers" {
		before = o.natives
	}
	if own := i - before; own >= 0 && own < len(was) {
		return fmt.Sprintf("%s%s[%d]%s", o.spec, list, own, rest), "", ""
	}
	kind := "container "
	if list == "volumes" {
		kind = "volume "
	}
	return o.spec + list, kind + is[i], o.addedBy(is[i])
}

// addedBy names the template that added an item according to the record, or
// every injected template if the record has no entry for it.
func (o *origin) addedBy(item string) string {
	for _, template := range slices.Sorted(maps.Keys(o.record)) {
		e := o.record[template]
		if slices.Contains(slices.Concat(e.Containers, e.InitContainers, e.Volumes), item) {
			return template
		}
	}
	return o.templates
}

// items names the lists' items that templates add to the specification.
func items(spec *corev1.PodSpec, list string) []string {
	var names []string
	switch list {
	case "containers":
		for _, c := range spec.Containers {
			names = append(names, c.Name)
		}
	case "initContainers":
		for _, c := range spec.InitContainers {
			names = append(names, c.Name)
		}
	case "volumes":
		for _, v := range spec.Volumes {
			names = append(names, v.Name)
		}
	}
	return names
}
