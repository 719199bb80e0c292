package template

import (
	stdjson "encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/yaml/position"
	"github.com/usher-dev/usher/yaml/syntax"
)

// maxConfig limits a template's text: a ConfigMap has at most 1 MiB.
const maxConfig = 1 << 20

// canonicalJSON reads the data key config. It returns its canonical JSON, with
// sorted keys; a repeated key is a problem, and the last one counts.
func canonicalJSON(config string, bad *InvalidError) []byte {
	if len(config) > maxConfig {
		bad.add("data.config", 0, "is larger than 1 MiB")
		return nil
	}
	canonical, err := yaml.YAMLToJSONStrict([]byte(config))
	if err == nil {
		return canonical
	}
	for _, p := range syntax.Problems(err) {
		bad.add("data.config", p.Line, "%s", p.Text)
	}
	canonical, err = yaml.YAMLToJSON([]byte(config))
	if err != nil {
		return nil
	}
	return canonical
}

// decodeFragment decodes canonical JSON strictly. An unknown field, and a value of the
// wrong type, is a problem: decodeFragment leaves it out, and returns the rest and its
// text, or nil.
func decodeFragment(canonical []byte, bad *InvalidError) (*fragment, []byte) {
	text := canonical
	var rest any
	for range maxProblems + 1 {
		frag := &fragment{}
		err := json.Unmarshal(text, frag, json.RejectUnknownMembers(true))
		if err == nil {
			return frag, text
		}
		path, detail := podjson.DecodeProblem(err)
		field := strings.TrimSuffix(configField+path, ".")
		if name, names, ok := podjson.Unknown(err); ok {
			bad.unknown(field, name, names)
		} else {
			bad.add(field, 0, "%s", detail)
			bad.leave(field)
		}
		var semantic *json.SemanticError
		if !errors.As(err, &semantic) || semantic.JSONPointer == "" {
			return nil, nil
		}
		if rest == nil && unmarshalTree(canonical, &rest) != nil {
			return nil, nil
		}
		remove(rest, semantic.JSONPointer)
		if text, err = stdjson.Marshal(rest); err != nil {
			return nil, nil
		}
	}
	return nil, nil
}

// unmarshalTree keeps numbers as they are written.
func unmarshalTree(text []byte, into *any) error {
	decoder := stdjson.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// remove removes a field, or clears an item of a list, whose other items keep their
// places.
func remove(value any, at jsontext.Pointer) {
	parent, last := at.Parent(), at.LastToken()
	for token := range parent.Tokens() {
		value = position.Child(value, token)
	}
	switch v := value.(type) {
	case map[string]any:
		delete(v, last)
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(v) {
			v[i] = nil
		}
	}
}

// withoutPlaceholders removes the values of canonical JSON with placeholders, whose
// parameters are not known.
func withoutPlaceholders(canonical []byte, bad *InvalidError) []byte {
	var tree any
	if !strings.Contains(string(canonical), placeholder) || unmarshalTree(canonical, &tree) != nil {
		return canonical
	}
	var walk func(value any, path []string) any
	walk = func(value any, path []string) any {
		switch v := value.(type) {
		case string:
			if strings.Contains(v, placeholder) {
				bad.leave(fieldOf(path))
				return nil
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], append(path[:len(path):len(path)], strconv.Itoa(i)))
			}
		case map[string]any:
			if len(path) == 4 && isContainers(path[0]) && path[2] == "args" {
				return nil // a group of arguments
			}
			for key := range v {
				if v[key] = walk(v[key], append(path[:len(path):len(path)], key)); v[key] == nil {
					delete(v, key)
				}
			}
		}
		return value
	}
	text, err := stdjson.Marshal(walk(tree, nil))
	if err != nil {
		return canonical
	}
	return text
}
