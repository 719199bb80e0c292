package injector

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/yaml/position"
)

// maxConfig limits a template's text: a ConfigMap has at most 1 MiB.
const maxConfig = 1 << 20

// parseFragment parses the data key config strictly: unknown and repeated
// fields are problems. It returns the canonical JSON (sorted keys) along with
// the typed fragment.
func parseFragment(config string, bad *InvalidTemplate) ([]byte, *fragment) {
	if len(config) > maxConfig {
		bad.add("data.config", 0, "is larger than 1 MiB")
		return nil, nil
	}
	canonical, err := yaml.YAMLToJSONStrict([]byte(config))
	if err != nil {
		bad.add("data.config", yamlLine(err), "%s", yamlMessage(err))
		return nil, nil
	}
	frag := &fragment{}
	if err := json.Unmarshal(canonical, frag, json.RejectUnknownMembers(true)); err != nil {
		field, detail := decodeProblem(err)
		bad.add(strings.TrimSuffix(configField+field, "."), 0, "%s", detail)
		bad.locate(config)
		return nil, nil
	}
	return canonical, frag
}

// decodeProblem turns a decoder's error into a field path and the problem of
// the field.
func decodeProblem(err error) (field, detail string) {
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
		return field, "is not a field of this object"
	case semantic.Err != nil:
		return field, semantic.Err.Error()
	case semantic.GoType != nil:
		return field, fmt.Sprintf("is %s; must be %s", kindName(semantic.JSONKind), typeName(semantic.GoType))
	}
	return field, "is of the wrong type"
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

var yamlLineNumber = regexp.MustCompile(`line (\d+): ?`)

func yamlLine(err error) int {
	if m := yamlLineNumber.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// yamlMessage removes the parser's prefixes and the line, which is reported
// separately.
func yamlMessage(err error) string {
	text := strings.NewReplacer(
		"error converting YAML to JSON: ", "", "error unmarshaling JSON: ", "",
		"while decoding JSON: ", "", "json: ", "", "yaml: unmarshal errors:\n  ", "", "yaml: ", "", "\n  ", "; ",
	).Replace(err.Error())
	return yamlLineNumber.ReplaceAllString(text, "")
}
