package podjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/suggest"
	"github.com/usher-dev/usher/yaml/position"
)

// DecodeProblem turns a decoder's error into a field path and the problem of
// the field.
func DecodeProblem(err error) (field, detail string) {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return position.Path("", syntax.JSONPointer), "is written twice"
		}
		return position.Path("", syntax.JSONPointer), fmt.Sprintf("is not JSON: %v at byte %d", syntax.Err, syntax.ByteOffset)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return "", err.Error()
	}
	field = position.Path("", semantic.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return field, "is not a field of this object" + meant(semantic)
	case semantic.Err != nil:
		return field, semantic.Err.Error()
	case semantic.GoType != nil:
		return field, fmt.Sprintf("is %s; must be %s", kindName(semantic.JSONKind), typeName(semantic.GoType))
	}
	return field, "is of the wrong type"
}

// Unknown returns the name of the unknown field that a decoder refuses, and the names
// of the fields of its object.
func Unknown(err error) (name string, names []string, ok bool) {
	var unknown *json.SemanticError
	if !errors.As(err, &unknown) || !errors.Is(err, json.ErrUnknownName) {
		return "", nil, false
	}
	if unknown.GoType != nil && unknown.GoType.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(unknown.GoType) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	return unknown.JSONPointer.LastToken(), names, true
}

// meant asks whether a similar field was meant.
func meant(unknown error) string {
	name, names, _ := Unknown(unknown)
	return suggest.Question("; ", name, names)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	}
	return "of the wrong type"
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a string (quote it)"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}
