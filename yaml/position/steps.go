package position

import (
	"iter"
	"strconv"
	"strings"
)

// Steps returns the steps of a field path as field.Path prints it: names, and
// in brackets indexes and keys.
func Steps(path string) iter.Seq2[string, bool] {
	return func(yield func(step string, bracketed bool) bool) {
		for path != "" {
			bracketed := path[0] == '['
			var step string
			if step, path = cut(path); !yield(step, bracketed) {
				return
			}
		}
	}
}

// Value returns the value of a decoded JSON value at a field path, or nil.
func Value(value any, path string) any {
	for step := range Steps(path) {
		value = Child(value, step)
	}
	return value
}

// Child returns the field or the item of a decoded JSON value for a step of a
// path, or nil.
func Child(value any, step string) any {
	switch v := value.(type) {
	case map[string]any:
		return v[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// cut splits off the first step of a field path.
func cut(path string) (step, rest string) {
	if strings.HasPrefix(path, "[") {
		end := strings.IndexByte(path, ']')
		if end < 0 {
			return path[1:], ""
		}
		return path[1:end], strings.TrimPrefix(path[end+1:], ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	if path[end] == '[' {
		return path[:end], path[end:]
	}
	return path[:end], path[end+1:]
}
