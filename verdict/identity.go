package verdict

import (
	"strconv"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
)

// identity tells the findings of an object apart. It calls containers and volumes
// by their names: their places change when others are added before them, and that
// does not make a finding a new one.
func identity(f finding.Finding, o *policies.Object) finding.Key {
	if o != nil && len(o.Templates) > 0 {
		f.Field = byName(f.Field, &o.Templates[0])
	}
	return f.Key()
}

// byName replaces the index of a container or volume in a field by its name.
func byName(field string, t *policies.PodTemplate) string {
	spec := t.At("spec").String() + "."
	list, i, rest, ok := itemOf(field, spec)
	if !ok {
		return field
	}
	names := items(t.Spec, list)
	if i >= len(names) {
		return field
	}
	return spec + list + "[" + names[i] + "]" + rest
}

// itemOf takes a field of an item of a list apart: the list, the item's index, and
// the path within the item. ok is false for other fields. spec is the path of the
// pod's specification, with its last dot.
func itemOf(field, spec string) (list string, index int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(field, spec)
	list, rest, indexed := strings.Cut(rest, "[")
	number, rest, closed := strings.Cut(rest, "]")
	index, err := strconv.Atoi(number)
	return list, index, rest, ok && indexed && closed && err == nil && index >= 0
}
