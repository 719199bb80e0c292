package strict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type item struct {
	Path string `json:"path"`
}

type document struct {
	Enforce string          `json:"enforce,omitempty"`
	Audit   bool            `json:"audit"`
	Items   []item          `json:"items"`
	Nested  *struct{ item } `json:"nested"`
	ByName  map[string]item `json:"byName"`
}

func TestUnmarshal(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"nothing wrong":               {"enforce: baseline\nitems: [{path: a}]\n", ""},
		"two misspelt fields":         {"enfroce: a\naduit: true\n", "unknown field \"aduit\": did you mean audit?\nunknown field \"enfroce\": did you mean enforce?"},
		"an unrelated field":          {"colour: red\n", `unknown field "colour"`},
		"another case":                {"Enforce: a\nAUDIT: true\n", ""},
		"in a list":                   {"items: [{paths: a}]\n", `unknown field "paths": did you mean path?`},
		"in a pointer to a struct":    {"nested: {pth: a}\n", `unknown field "pth": did you mean path?`},
		"in a map":                    {"byName: {a: {pat: b}}\n", `unknown field "pat": did you mean path?`},
		"a wrong type, and a field":   {"audit: often\nenfroce: a\n", "unknown field \"enfroce\": did you mean enforce?\nerror unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field document.audit of type bool"},
		"a field that is there twice": {"audit: true\naudit: false\n", "error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: key \"audit\" already set in map"},
		"not YAML":                    {"a: [", "error converting YAML to JSON: yaml: line 1: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Unmarshal([]byte(tc.text), &document{}); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
