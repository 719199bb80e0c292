package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
)

// validate validates values against the schemas of a chart and its dependencies. A
// schema that refers to others is not used, because they are in the network: a note
// says so.
func validate(c *v2.Chart, values map[string]any) (notes []string, err error) {
	if len(c.Schema) > 0 {
		schema, err := compile(c.Schema)
		var remote *jsonschema.LoadURLError
		switch {
		case errors.As(err, &remote):
			notes = append(notes, fmt.Sprintf("chart %s: its values are not validated, because their schema refers to %s", c.Name(), remote.URL))
		case err != nil:
			return nil, fmt.Errorf("values.schema.json of the chart %s: %w", c.Name(), err)
		default:
			written, err := plain(values)
			if err == nil {
				err = schema.Validate(written)
			}
			if err != nil {
				return nil, fmt.Errorf("the values do not meet the schema of the chart %s: %s", c.Name(), causes(err))
			}
		}
	}
	for _, sub := range c.Dependencies() {
		if own, ok := values[sub.Name()].(map[string]any); ok {
			more, err := validate(sub, own)
			notes = append(notes, more...)
			if err != nil {
				return notes, err
			}
		}
	}
	return notes, nil
}

// plain returns values in the types that the validator knows.
func plain(values map[string]any) (any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func compile(text []byte) (*jsonschema.Schema, error) {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, schema); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// nothing loads nothing.
type nothing struct{}

// Load implements jsonschema.URLLoader.
func (nothing) Load(string) (any, error) { return nil, errors.New("usher does not load schemas") }

// causes are the lines that say what is wrong with the values.
func causes(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, line := range lines {
		lines[i] = plainly(strings.TrimLeft(line, "- "))
	}
	if len(lines) > 1 {
		lines = lines[1:] // the first names the schema
	}
	return strings.Join(lines, "; ")
}

var (
	misfit       = regexp.MustCompile(`^at '/?([^']*)': (.*)$`)
	wrongType    = regexp.MustCompile(`^got (\w+), want (\w+)$`)
	mismatch     = regexp.MustCompile(`^'(?s:.*)' (does not match pattern|is not valid [^:]*)(?s:(?: '(.*)')?.*)$`)
	limit        = regexp.MustCompile(`^(\w+): got .*, want (.*)$`)
	unknownValue = regexp.MustCompile(`^additional properties '([^']*)' not allowed$`)
	typeNames    = strings.NewReplacer("string", "a text", "integer", "a whole number", "number", "a number", "boolean", "true or false", "object", "a mapping", "array", "a list")
)

// plainly describes a value that the schema refuses as --set names it.
func plainly(line string) string {
	m := misfit.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	value, problem := strings.ReplaceAll(m[1], "/", "."), m[2]
	if t := wrongType.FindStringSubmatch(problem); t != nil {
		problem = "is " + typeNames.Replace(t[1]) + "; write " + typeNames.Replace(t[2])
	}
	if m := mismatch.FindStringSubmatch(problem); m != nil { // the value is not printed
		problem = strings.TrimSpace(m[1] + " " + m[2])
	}
	if l := limit.FindStringSubmatch(problem); l != nil {
		problem = l[1] + ": must be " + l[2]
	}
	if u := unknownValue.FindStringSubmatch(problem); u != nil {
		value, problem = "", "it has no value "+strings.TrimPrefix(value+"."+u[1], ".")
	}
	return strings.TrimSpace(value + " " + problem)
}
