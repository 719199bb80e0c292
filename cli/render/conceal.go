package render

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/confidential"
)

// given are the values that a unit is rendered from. Helm and kustomize quote them in
// their errors, and any of them may end up in a Secret.
type given struct {
	values confidential.Words
	// source is what the author of a chart wrote in templates, which is in the open.
	source strings.Builder
}

// shortestToken is the length of a part of a value that is concealed by itself.
const shortestToken = 6

// tokens are the words of a value.
var tokens = regexp.MustCompile(`[\pL\pN]+`)

// value adds the texts and numbers in a chart's value.
func (g *given) value(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			g.value(field)
		}
	case []any:
		for _, item := range v {
			g.value(item)
		}
	case nil, bool:
	default:
		text := fmt.Sprint(v)
		g.hide(text)
		if strings.Contains(text, "{{") { // tpl evaluates its parts
			for _, token := range tokens.FindAllString(text, -1) {
				if len(token) >= shortestToken {
					g.hide(token)
				}
			}
		}
	}
}

func (g *given) hide(text string) {
	if !strings.Contains(g.source.String(), text) {
		g.values.Hide(text)
	}
}

// file adds the confidential values of a file that a kustomization reads: of manifests and
// patches, and every line of another file.
func (g *given) file(text string) {
	for document := range strings.SplitSeq(text, "\n---") {
		var value any
		err := yaml.Unmarshal([]byte(document), &value)
		switch value.(type) {
		case map[string]any, []any:
			g.values.Add(value)
			g.generated(value)
			continue
		}
		if err != nil || value != nil {
			for line := range strings.Lines(document) {
				g.literal(strings.TrimSpace(line))
			}
		}
	}
}

// generated adds what a kustomization, or a patch in JSON, contains.
func (g *given) generated(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			text, isText := field.(string)
			switch {
			case name == "literals":
				g.literals(field)
			case name == "patch" && isText:
				g.file(text)
			case name == "value" && v["op"] != nil:
				g.value(field)
			default:
				g.generated(field)
			}
		}
	case []any:
		for _, item := range v {
			g.generated(item)
		}
	}
}

func (g *given) literals(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			g.literals(item)
		}
	case map[string]any:
		g.value(v)
	case string:
		g.literal(v)
	}
}

// literal adds KEY=VALUE, or what is not in this form.
func (g *given) literal(text string) {
	g.values.Hide(text)
	if _, value, ok := strings.Cut(text, "="); ok {
		g.values.Hide(value)
		g.values.Hide(strings.Trim(value, `"'`))
	}
}

// echoes are the parts of kustomize's errors that repeat its input.
var echoes = regexp.MustCompile("(?s) with config: `.*?`| from \\[.*\\]|line \\[[0-9 ]+\\]")

// conceal returns the words of an error without the values.
func (g *given) conceal(text string) string {
	return g.values.Conceal(echoes.ReplaceAllString(text, ""))
}
