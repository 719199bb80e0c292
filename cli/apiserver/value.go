package apiserver

import (
	"encoding/json"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/confidential"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/yaml/position"
)

// concealed removes the confidential values of an object from the findings about it.
// The server's own code quotes them: a Secret's data that was written as text instead
// of base64, a variable that is not a text, or the difference between two pods.
func concealed(found []finding.Finding, object verdict.Object, old *verdict.Object) []finding.Finding {
	var words *confidential.Words
	for i := range found {
		f := &found[i]
		if words == nil {
			words = confidential.Of(object.JSON)
			if old != nil {
				words = confidential.Of(object.JSON, old.JSON)
			}
		}
		if confidential.Holds(object.Kind, f.Field) {
			f.Value = nil
		}
		if text, ok := f.Value.(string); ok {
			f.Value = words.Conceal(text)
		}
		f.Field, f.Message, f.Fix = words.Conceal(f.Field), words.Conceal(f.Message), words.Conceal(f.Fix)
	}
	return found
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
