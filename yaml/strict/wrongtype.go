package strict

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A WrongType is a value that does not fit its field.
type WrongType struct {
	// Path is the path of the field, such as policies.exclude[0].
	Path string
	// Problem describes the value, such as `is "often"; write true or false`.
	Problem string
}

func (e *WrongType) Error() string {
	if e.Path == "" {
		return "the document " + e.Problem
	}
	return e.Path + " " + e.Problem
}

// wrongTypes lists the values that do not fit a type, in the order of their paths.
func wrongTypes(value any, t reflect.Type, path string) []error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	wrong := func(instead string) []error {
		found := described(value)
		if path == "" { // it may be a file of another kind, which contains confidential values
			found = kindOf(value)
		}
		return []error{&WrongType{path, "is " + found + "; write " + instead}}
	}
	if pointer := reflect.PointerTo(t); value == nil || pointer.Implements(unmarshaler) {
		return nil // its own errors are plain
	} else if pointer.Implements(textUnmarshaler) {
		text, ok := value.(string)
		if !ok {
			return wrong("a text")
		}
		if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return []error{&WrongValue{path, err}}
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			return wrong("a mapping of keys to values")
		}
		fields := map[string]reflect.Type{}
		if t.Kind() == reflect.Struct {
			fields = fieldsOf(t)
		}
		var errs []error
		for _, key := range slices.Sorted(maps.Keys(object)) {
			of, known := fields[nameOf(fields, key)]
			if t.Kind() == reflect.Map {
				of, known = t.Elem(), true
			}
			if known {
				errs = append(errs, wrongTypes(object[key], of, strings.TrimPrefix(path+"."+key, "."))...)
			}
		}
		return errs
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return wrong("a list")
		}
		var errs []error
		for i, item := range list {
			errs = append(errs, wrongTypes(item, t.Elem(), path+"["+strconv.Itoa(i)+"]")...)
		}
		return errs
	case reflect.String:
		if _, ok := value.(string); !ok {
			return wrong("a text (quote it)")
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return wrong("true or false")
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if number, ok := value.(float64); !ok || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
			return wrong("a whole number")
		}
	}
	return nil
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// A WrongValue is a value that its type does not accept.
type WrongValue struct {
	Path string
	Err  error
}

func (e *WrongValue) Error() string { return e.Err.Error() }
func (e *WrongValue) Unwrap() error { return e.Err }

// kindOf names the type of a value.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	}
	return described(value)
}

// described is a value as a message shows it.
func described(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	text, _ := json.Marshal(value) // it was decoded from JSON
	return fmt.Sprintf("%.80s", text)
}
