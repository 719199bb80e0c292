// Package strict decodes YAML into structs, and reports every field that
// they do not have, not only the first.
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/suggest"
	"github.com/usher-dev/usher/yaml/syntax"
)

// An UnknownField is a field that the struct does not have.
type UnknownField struct {
	// Path is the path of the field, Name its last step.
	Path, Name string
	// Meant is the name of the field that was probably meant, or "".
	Meant string
	// Known are the fields that it has.
	Known []string
}

func (e *UnknownField) Error() string {
	switch {
	case e.Meant != "":
		return fmt.Sprintf("unknown field %q: did you mean %s?", e.Name, e.Meant)
	case len(e.Known) <= maxKnown:
		return fmt.Sprintf("unknown field %q: write %s", e.Name, suggest.List(e.Known, "or"))
	}
	return fmt.Sprintf("unknown field %q: remove it", e.Name)
}

// maxKnown is how many fields a message lists.
const maxKnown = 10

// Unmarshal decodes YAML into a pointer to a struct, as yaml.UnmarshalStrict
// does. The error joins an UnknownField for each unknown field with a WrongType or
// a WrongValue for what does not fit.
func Unmarshal(text []byte, into any) error {
	err := yaml.UnmarshalStrict(text, into)
	if err == nil {
		return nil
	}
	var document any
	if yaml.Unmarshal(text, &document) != nil {
		return explained(err)
	}
	errs := append(unknownFields(document, reflect.TypeOf(into), ""), wrongTypes(document, reflect.TypeOf(into), "")...)
	if len(errs) == 0 {
		errs = append(errs, explained(err))
	}
	return errors.Join(errs...)
}

// A SyntaxError is YAML that cannot be read.
type SyntaxError struct {
	Line int // 0 if it is not known
	Text string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

func explained(err error) error {
	line, text := syntax.Explain(err)
	return &SyntaxError{line, text}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// unknownFields lists the unknown fields of a value in the order of their names.
func unknownFields(value any, t reflect.Type, path string) (errs []error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				errs = append(errs, unknownFields(item, t.Elem(), path+"["+strconv.Itoa(i)+"]")...)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
			return nil
		}
		fields := map[string]reflect.Type{}
		if t.Kind() == reflect.Struct {
			fields = fieldsOf(t)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := strings.TrimPrefix(path+"."+key, ".")
			of, known := fields[nameOf(fields, key)]
			if t.Kind() == reflect.Map {
				of, known = t.Elem(), true
			}
			if !known {
				names := slices.Sorted(maps.Keys(fields))
				errs = append(errs, &UnknownField{Path: below, Name: key, Meant: suggest.Nearest(key, names), Known: names})
				continue
			}
			errs = append(errs, unknownFields(v[key], of, below)...)
		}
	}
	return errs
}

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

// nameOf returns the name of a key's field: the decoder ignores the case of names.
func nameOf(fields map[string]reflect.Type, key string) string {
	for name := range fields {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	return key
}
