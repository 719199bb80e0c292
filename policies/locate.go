package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/usher-dev/usher/finding/confidential"
)

// maxProblems limits the reported values of one object.
const maxProblems = 20

// Locate finds the values of an object that do not decode. Decoders stop at the
// first, and those of Kubernetes do not name elements of lists, so Locate tries
// each part of the object by itself, inside only its parents. A list or a
// mapping that does not decode even if it is empty is in the wrong place.
func Locate(raw []byte, try func([]byte) error, base *field.Path) []Mismatch {
	whole := try(raw)
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return []Mismatch{{Path: base, Message: "is not JSON: " + err.Error()}}
	}
	l := locator{try: try}
	l.descend(value, base, func(part any) any { return part })
	if len(l.found) == 0 {
		return []Mismatch{{Path: base, Message: "does not fit its kind: " + whole.Error()}}
	}
	return l.found
}

// Without returns an object without the values that do not decode, so that decoders find
// what else is wrong with it; nil if nothing is left.
func Without(raw []byte, found []Mismatch) []byte {
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return nil
	}
	bad := map[string]bool{}
	for _, m := range found {
		if m.Path == nil {
			return nil
		}
		bad[m.Path.String()] = true
	}
	rest, err := json.Marshal(without(value, nil, bad))
	if err != nil {
		return nil
	}
	return rest
}

func without(value any, path *field.Path, bad map[string]bool) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if at := child(path, name); bad[at.String()] {
				delete(v, name)
			} else {
				v[name] = without(v[name], at, bad)
			}
		}
	case []any:
		for i := range v {
			if at := path.Index(i); bad[at.String()] {
				v[i] = nil
			} else {
				v[i] = without(v[i], at, bad)
			}
		}
	}
	return value
}

type locator struct {
	try   func([]byte) error
	found []Mismatch
}

// descend reports the parts of value that fail to decode inside their parents,
// which wrap adds around a part.
func (l *locator) descend(value any, path *field.Path, wrap func(any) any) {
	if len(l.found) >= maxProblems {
		return
	}
	err := l.attempt(wrap(value))
	if err == nil {
		return
	}
	before := len(l.found)
	switch v := value.(type) {
	case map[string]any:
		if l.attempt(wrap(map[string]any{})) != nil {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			l.descend(v[name], child(path, name), func(part any) any { return wrap(map[string]any{name: part}) })
		}
	case []any:
		if l.attempt(wrap([]any{})) != nil {
			break
		}
		for i, item := range v {
			l.descend(item, path.Index(i), func(part any) any { return wrap([]any{part}) })
		}
	}
	if len(l.found) == before {
		m := Mismatch{path, value, explain(describe(value), err), explain(describeType(value), err)}
		if confidential.Holds("", path.String()) {
			m.Value, m.Message = nil, m.Redacted
		}
		l.found = append(l.found, m)
	}
}

func (l *locator) attempt(object any) error {
	part, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return l.try(part)
}

// child returns the path of a field or, if the name cannot be a field's, of a
// key.
func child(path *field.Path, name string) *field.Path {
	if strings.ContainsAny(name, "./[]") && path != nil {
		return path.Key(name)
	}
	return path.Child(name)
}

// explain says what was found, a value or only its type, and what would fit.
func explain(value string, err error) string {
	if errors.Is(err, resource.ErrFormatWrong) {
		return fmt.Sprintf("is %s: write a quantity, such as 500m or 1Gi", value)
	}
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Type == nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		return fmt.Sprintf("is %s, which does not decode: %s", value, text)
	}
	wanted := mismatch.Type.String()
	switch mismatch.Type.Kind().String() {
	case "int", "int32", "int64":
		wanted = "an integer"
	case "string":
		wanted = "a string (quote it)"
	case "bool":
		wanted = "true or false"
	case "slice":
		wanted = "a list"
	case "map", "struct":
		wanted = "a mapping"
	}
	return fmt.Sprintf("is %s: write %s", value, wanted)
}

// describe describes a JSON value in a few words.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		if len(v) > 60 {
			v = v[:57] + "..."
		}
		return fmt.Sprintf("the string %q", v)
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

// describeType describes a JSON value without its content.
func describeType(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case map[string]any, []any, nil:
		return describe(value)
	}
	return "a number"
}
