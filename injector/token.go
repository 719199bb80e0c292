package injector

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// mountToken mounts the token in a container that was just added to a list, at
// an index, unless the container already mounts another volume at that path.
func (m *merge) mountToken(list string, index int, c *template.Container) {
	if m.token == "" || podjson.MountsToken(&c.Typed) {
		return
	}
	mount := slices.Concat(jsontext.Value(`{"mountPath":"`+podjson.TokenPath+`","name":`), podjson.Quoted(m.token), jsontext.Value(`,"readOnly":true}`))
	path := "/spec/" + list + "/" + strconv.Itoa(index) + "/volumeMounts"
	if len(c.Typed.VolumeMounts) == 0 { // absent, null or an empty list
		m.patch = append(m.patch, podjson.Add(path, slices.Concat(jsontext.Value("["), mount, jsontext.Value("]"))))
		return
	}
	m.patch = append(m.patch, podjson.Add(path+"/-", mount))
}
