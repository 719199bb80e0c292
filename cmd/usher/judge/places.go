package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/policies"
)

// places relates the fields of an injected object to those that were written.
type places struct {
	was, is *policies.PodTemplate
	// spec is the path of the pod's specification, with its last dot.
	spec string
	// natives counts the init containers put before those that were written.
	natives int
	record  injector.Record
	// all names every template that was injected.
	all string
}

func newPlaces(sub *subject) *places {
	p := &places{}
	var names []string
	for _, o := range sub.injection.Outcomes {
		if o.Reason == injector.Injected {
			names = append(names, o.Template)
		}
	}
	p.all = strings.Join(names, ", ")
	if len(sub.written.Templates) == 0 || len(sub.object.Templates) == 0 {
		return p
	}
	p.was, p.is = &sub.written.Templates[0], &sub.object.Templates[0]
	p.spec = p.was.At("spec").String() + "."
	p.record, _ = injector.ParseRecord(p.is.Meta.Annotations) // usher wrote it
	if own := p.was.Spec.InitContainers; len(own) > 0 {
		p.natives = max(0, slices.IndexFunc(p.is.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == own[0].Name }))
	}
	return p
}

// find returns the field that stands in the file for one of the injected
// object, and which template added it, "" where none did.
func (p *places) find(field string) (at, by string) {
	rest, ok := strings.CutPrefix(field, p.spec)
	list, rest, indexed := strings.Cut(rest, "[")
	number, rest, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if p.is == nil || !ok || !indexed || !closed || err != nil || i < 0 {
		return field, ""
	}
	was, is := items(p.was.Spec, list), items(p.is.Spec, list)
	if i >= len(is) {
		return field, ""
	}
	before := 0
	if list == "initContainers" {
		before = p.natives
	}
	if own := i - before; own >= 0 && own < len(was) {
		return fmt.Sprintf("%s%s[%d]%s", p.spec, list, own, rest), ""
	}
	return p.spec + list, p.addedBy(is[i])
}

// addedBy names the template that added an item, by the record, or all where
// that does not say.
func (p *places) addedBy(item string) string {
	for _, template := range slices.Sorted(maps.Keys(p.record)) {
		e := p.record[template]
		if slices.Contains(slices.Concat(e.Containers, e.InitContainers, e.Volumes), item) {
			return template
		}
	}
	return p.all
}

// items names the items of a list of the specification that templates add to.
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
