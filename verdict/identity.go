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
	if len(o.Templates) > 0 {
		f.Field = byName(f.Field, &o.Templates[0])
	}
	return f.Key()
}

// byName replaces the index of a container or volume in a field by its name.
func byName(field string, t *policies.PodTemplate) string {
	spec := t.At("spec").String() + "."
	rest, ok := strings.CutPrefix(field, spec)
	list, rest, indexed := strings.Cut(rest, "[")
	number, rest, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !ok || !indexed || !closed || err != nil || i < 0 {
		return field
	}
	names := items(t.Spec, list)
	if i >= len(names) {
		return field
	}
	return spec + list + "[" + names[i] + "]" + rest
}
