package apiserver

import (
	"encoding/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/position"
)

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
