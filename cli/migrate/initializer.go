package migrate

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/yaml/position"
)

// configuration is the InitializerConfiguration of v1alpha1, whose Go type was
// removed from k8s.io/api in 1.14.
type configuration struct {
	APIVersion   string         `json:"apiVersion"`
	Kind         string         `json:"kind"`
	Metadata     jsontext.Value `json:"metadata"`
	Initializers []initializer  `json:"initializers"`
}

// metadata is decoded separately: other fields that an API server wrote at the
// time are useless today.
type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type initializer struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
	// FailurePolicy existed only in 1.7.
	FailurePolicy *string `json:"failurePolicy"`
}

type rule struct {
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Resources   []string `json:"resources"`
}

// decode decodes the object strictly: a misspelt field would otherwise be
// dropped silently. The error is always a Problem.
func decode(object []byte) (*configuration, *metadata, error) {
	var c configuration
	if err := json.Unmarshal(object, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, decodeProblem("", err)
	}
	if c.APIVersion != Group+"/v1alpha1" {
		return nil, nil, Problem{"apiVersion", fmt.Sprintf("%q never had initializers; write %s/v1alpha1", c.APIVersion, Group)}
	}
	if c.Kind != Kind {
		return nil, nil, Problem{"kind", fmt.Sprintf("%q; write %s", c.Kind, Kind)}
	}
	var m metadata
	if len(c.Metadata) > 0 {
		if err := json.Unmarshal(c.Metadata, &m); err != nil {
			return nil, nil, decodeProblem("metadata", err)
		}
	}
	return &c, &m, nil
}

// decodeProblem explains where the decoder stopped, and why.
func decodeProblem(parent string, err error) Problem {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return Problem{position.Path(parent, syntax.JSONPointer), syntax.Err.Error()}
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return Problem{parent, err.Error()}
	}
	path := position.Path(parent, semantic.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return Problem{path, "not a field of this object"}
	case semantic.Err != nil:
		return Problem{path, semantic.Err.Error()}
	}
	return Problem{path, "found " + found(semantic.JSONKind) + "; write " + wanted(semantic.GoType)}
}

func found(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "true, false or null"
}

func wanted(t reflect.Type) string {
	switch {
	case t == nil:
		return "another type"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "an object"
	}
	return "a string, in quotes"
}
