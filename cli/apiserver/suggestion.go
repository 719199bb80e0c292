package apiserver

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies/servererrors"
	"github.com/usher-dev/usher/suggest"
)

// suggested adds to the findings about unknown fields the names that were probably
// meant.
func (c *call) suggested(kind schema.GroupVersionKind, found []finding.Finding) {
	for i := range found {
		f := &found[i]
		if f.Rule != servererrors.UnknownField {
			continue
		}
		steps := stepsOf(f.Field)
		if len(steps) == 0 {
			continue
		}
		last := len(steps) - 1
		var known []string
		switch codec := c.codec.(type) {
		case typed:
			if object, err := codec.scheme.New(kind); err == nil {
				known = namesIn(reflect.TypeOf(object), steps[:last])
			}
		case untyped:
			known = propertiesIn(codec.schema, steps[:last])
		}
		if name := suggest.Nearest(steps[last], known); name != "" {
			f.Message += ": did you mean " + name + "?"
			f.Fix = "write `" + name + "`"
		}
	}
}

// stepsOf splits the path of a field, with [] for an item of a list or mapping.
func stepsOf(path string) (steps []string) {
	for path != "" {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return nil
			}
			steps, path = append(steps, "[]"), strings.TrimPrefix(path[end+1:], ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(steps, path)
		}
		steps, path = append(steps, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return steps
}

// namesIn returns the JSON names of the fields of a Go type at a path.
func namesIn(t reflect.Type, steps []string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(steps) == 0 && t.Kind() == reflect.Struct:
		return slices.Sorted(maps.Keys(jsonFields(t)))
	case len(steps) == 0:
		return nil
	case steps[0] == "[]" && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map):
		return namesIn(t.Elem(), steps[1:])
	case t.Kind() == reflect.Map:
		return namesIn(t.Elem(), steps[1:])
	case t.Kind() != reflect.Struct:
		return nil
	}
	if next, ok := jsonFields(t)[steps[0]]; ok {
		return namesIn(next, steps[1:])
	}
	return nil
}

// propertiesIn returns the names of the fields of a schema at a path.
func propertiesIn(s *structuralschema.Structural, steps []string) []string {
	for _, step := range steps {
		switch {
		case s == nil:
			return nil
		case step == "[]" && s.Items != nil:
			s = s.Items
		case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
			s = s.AdditionalProperties.Structural
		default:
			next, ok := s.Properties[step]
			if !ok {
				return nil
			}
			s = &next
		}
	}
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
