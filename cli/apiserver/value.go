package apiserver

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/yaml/position"
)

// confidential reports whether no finding may contain a value of the object: a
// Secret's data, also where it does not decode, because it was written as text
// instead of base64.
func confidential(kind schema.GroupVersionKind) bool {
	return kind.Group == "" && kind.Kind == "Secret"
}

// valued adds to findings the values of their fields in the original object, if
// they are numbers, words or booleans.
func valued(raw []byte, found []finding.Finding) {
	var object any
	for i := range found {
		f := &found[i]
		if f.Value != nil && f.Value != "" || f.Field == "" {
			continue
		}
		if object == nil && json.Unmarshal(raw, &object) != nil {
			return
		}
		f.Value = scalar(position.Value(object, f.Field))
	}
}
