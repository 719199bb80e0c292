package apiserver

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/usher-dev/usher/finding"
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
		f.Value = scalar(at(object, f.Field))
	}
}

// at is the value of a path such as spec.containers[0].image; nil where there is
// none.
func at(value any, path string) any {
	for path != "" && value != nil {
		var step string
		if inside, ok := strings.CutPrefix(path, "["); ok {
			step, path, _ = strings.Cut(inside, "]")
		} else if i := strings.IndexAny(path, ".["); i >= 0 {
			step, path = path[:i], path[i:]
		} else {
			step, path = path, ""
		}
		path = strings.TrimPrefix(path, ".")
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
