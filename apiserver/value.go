package apiserver

import (
	"encoding/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/position"
)

// valued adds to findings what their fields hold in the object as it was written,
// where that is a number, a word or true or false.
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
