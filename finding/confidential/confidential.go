// Package confidential knows which values of an object no output may contain: the
// data of Secrets, the values of environment variables, and copies of both in
// annotations. It conceals them in values, and in the words of others.
package confidential

import (
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/yaml/position"
)

// Mark stands for a value that an output leaves out.
const Mark = position.Concealed

// lastApplied is the annotation in which kubectl apply keeps the whole manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Holds reports whether the value of a field is confidential, or may be if it is of
// another type than it should be.
func Holds(kind, path string) bool {
	at := root(kind)
	for step := range position.Steps(path) {
		at = at.child(step)
	}
	return at == hidden || at == variables || at == variable
}

// Conceal returns a copy of the decoded value of a field, with the mark in the place of
// each confidential scalar.
func Conceal(kind, path string, value any) any {
	at := root(kind)
	for step := range position.Steps(path) {
		at = at.child(step)
	}
	return conceal(value, at, func(any) any { return Mark })
}

// A place is what a part of an object may contain.
type place int

const (
	// open is any other part of an object.
	open place = iota
	// hidden is a part whose scalars are all confidential.
	hidden
	// secret is a Secret, and list may contain one.
	secret
	list
	// metadata is that of an object or a pod template, and annotations are in it.
	metadata
	annotations
	// variables are a list of environment variables, variable is one of them, and
	// source is where it has its value from.
	variables
	variable
	source
	// shown is a part of a variable that is not confidential.
	shown
)

func root(kind string) place {
	switch {
	case isSecret(kind):
		return secret
	case kind == "List":
		return list
	}
	return open
}

// isSecret also recognizes lists, and kinds that somebody wrote in another case.
func isSecret(kind string) bool {
	kind = strings.TrimSpace(kind)
	return strings.EqualFold(kind, "Secret") || strings.EqualFold(kind, "SecretList")
}

// child is the part of a field or of an item, which has its index as its name.
func (p place) child(name string) place {
	switch p {
	case hidden, shown:
		return p
	case secret:
		switch name {
		case "metadata":
			return metadata
		case "apiVersion", "kind", "type":
			return shown
		}
		return hidden
	case list:
		if name == "items" {
			return secret
		}
		return shown
	case metadata:
		if name == "annotations" {
			return annotations
		}
		return open
	case annotations:
		if name == lastApplied || overridesVariable(name) {
			return hidden
		}
		return shown
	case variables:
		return variable
	case variable:
		switch name {
		case "name":
			return shown
		case "valueFrom":
			return source
		}
		return hidden
	case source:
		if strings.HasSuffix(name, "Ref") {
			return shown
		}
		return hidden
	}
	switch name {
	case "env":
		return variables
	case "metadata":
		return metadata
	}
	return open
}

// overridesVariable reports whether an annotation sets a variable of a template:
// inject.usher.dev/TEMPLATE.env.NAME.
func overridesVariable(key string) bool {
	name, ok := strings.CutPrefix(key, wellknown.InjectPrefix)
	return ok && strings.Contains(name, ".env.")
}

// conceal replaces the confidential scalars of a value.
func conceal(value any, at place, instead func(any) any) any {
	switch v := value.(type) {
	case map[string]any:
		if kind, ok := v["kind"].(string); ok && isSecret(kind) {
			at = secret
		}
		copied := make(map[string]any, len(v))
		for name, field := range v {
			below := at.child(name)
			if at == variables {
				below = hidden // a mapping of names to values
			}
			copied[name] = conceal(field, below, instead)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			below := at
			if at == variables {
				below = variable
			}
			copied[i] = conceal(item, below, instead)
		}
		return copied
	case nil, bool:
		return value
	}
	text, _ := value.(string)
	if at == hidden || at == variables || at == variable || at == source || position.Confidential(text) {
		return instead(value)
	}
	return value
}
