package verdict

import (
	"strconv"
	"strings"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
)

// identity identifies a finding of an object. It uses the names of containers
// and volumes, because their indexes change when other items are added before
// them, which does not make a finding a new one.
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

// itemOf splits a field of a list item into the list, the item's index, and the
// path within the item. ok is false for other fields. spec is the path of the
// pod's specification, with a trailing dot.
func itemOf(field, spec string) (list string, index int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(field, spec)
	list, rest, indexed := strings.Cut(rest, "[")
	number, rest, closed := strings.Cut(rest, "]")
	index, err := strconv.Atoi(number)
	return list, index, rest, ok && indexed && closed && err == nil && index >= 0
}
