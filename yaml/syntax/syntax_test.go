package syntax_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/yaml/syntax"
)

func TestExplain_ErrorsOfTheParser(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":                "1: a list or mapping is not complete: write a value, and close each [ and {",
		"a: [b\nc: d":         "1: a list is not complete: write a comma between its items, and ] after the last",
		"a: {b: c\nd: [e]":    "1: a mapping is not complete: write a comma between its keys, and } after the last",
		"a: b: c":             "1: a second colon follows on this line, or the line is indented too far: quote the value, or correct the indentation",
		"a: @b":               "1: a value begins with a tab, @, % or `: write spaces, or quote the value",
		"a: \"b":              "1: a quote is not closed: write the closing quote",
		"a: b\n  c: d\n e: f": "2: a second colon follows on this line, or the line is indented too far: quote the value, or correct the indentation",
		"a:\n  b: c\n d: e":   "2: the line does not continue the mapping above it: correct its indentation, or close the quotes above it",
		"- a\nb: c":           "1: the line does not continue the list above it: write - before the item, or correct its indentation",
		"a: b\nc\n":           "3: a key has no colon: write KEY: VALUE",
		`a: "\d"`:             "1: a text in double quotes has an unknown escape: write \\\\ for a backslash, or use single quotes",
		"a: *\n":              "1: * and & name parts of a document in YAML: quote the value",
		"a: *b\n":             "1: * names a part of the document that does not exist: quote the value",
		"a: \xff":             "1: this is not a text in UTF-8: write YAML or JSON",
		"a: \x01":             "1: this is not a text in UTF-8: write YAML or JSON",
	} {
		_, err := yaml.YAMLToJSONStrict([]byte(text))
		if err == nil {
			t.Errorf("%q is valid", text)
			continue
		}
		line, meaning := syntax.Explain(err)
		if got := fmt.Sprintf("%d: %s", line, meaning); got != want {
			t.Errorf("%q: %v\ngot  %s\nwant %s", text, err, got, want)
		}
	}
}
