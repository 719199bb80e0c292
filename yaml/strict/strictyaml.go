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
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/suggest"
)

// An UnknownField is a field that the struct does not have.
type UnknownField struct {
	Name string
	// Meant is the name of the field that was probably meant, or "".
	Meant string
}

func (e *UnknownField) Error() string {
	text := fmt.Sprintf("unknown field %q", e.Name)
	if e.Meant != "" {
		text += ": did you mean " + e.Meant + "?"
	}
	return text
}

// Unmarshal decodes YAML into a pointer to a struct, as yaml.UnmarshalStrict
// does. The error joins an UnknownField for each unknown field with what does not
// decode.
func Unmarshal(text []byte, into any) error {
	err := yaml.UnmarshalStrict(text, into)
	if err == nil {
		return nil
	}
	var document any
	if yaml.Unmarshal(text, &document) != nil {
		return err
	}
	errs := unknownFields(document, reflect.TypeOf(into))
	if len(errs) == 0 || !strings.Contains(err.Error(), "unknown field") {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// unknownFields lists the unknown fields of a value in the order of their names.
func unknownFields(value any, t reflect.Type) (errs []error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for _, item := range v {
				errs = append(errs, unknownFields(item, t.Elem())...)
			}
		}
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				errs = append(errs, unknownFields(v[key], t.Elem())...)
			}
		}
		if t.Kind() != reflect.Struct {
			return errs
		}
		fields := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields[name] = f.Type
			}
		}
		known := slices.Sorted(maps.Keys(fields))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			// The decoder ignores the case of names.
			i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, key) })
			if i < 0 {
				errs = append(errs, &UnknownField{Name: key, Meant: suggest.Nearest(key, known)})
				continue
			}
			errs = append(errs, unknownFields(v[key], fields[known[i]])...)
		}
	}
	return errs
}
