package injector

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// mountToken mounts the token in a container that was just added to a list, at
// an index, unless the container already mounts another volume at that path.
func (m *merge) mountToken(list string, index int, c *container) {
	if m.token == "" || mountsToken(&c.typed) {
		return
	}
	mount := slices.Concat(jsontext.Value(`{"mountPath":"`+tokenPath+`","name":`), quoted(m.token), jsontext.Value(`,"readOnly":true}`))
	path := "/spec/" + list + "/" + strconv.Itoa(index) + "/volumeMounts"
	if len(c.typed.VolumeMounts) == 0 { // absent, null or an empty list
		m.patch = append(m.patch, Operation{"add", path, slices.Concat(jsontext.Value("["), mount, jsontext.Value("]"))})
		return
	}
	m.patch = append(m.patch, Operation{"add", path + "/-", mount})
}
