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
		"an unrelated field":          {"colour: red\n", `unknown field "colour": write audit, byName, enforce, items or nested`},
		"another case":                {"Enforce: a\nAUDIT: true\n", ""},
		"in a list":                   {"items: [{paths: a}]\n", `unknown field "paths": did you mean path?`},
		"in a pointer to a struct":    {"nested: {pth: a}\n", `unknown field "pth": did you mean path?`},
		"in a map":                    {"byName: {a: {pat: b}}\n", `unknown field "pat": did you mean path?`},
		"a wrong type, and a field":   {"audit: often\nenfroce: a\n", "unknown field \"enfroce\": did you mean enforce?\naudit is \"often\"; write true or false"},
		"wrong types below":           {"items: {}\nnested: {path: 7}\nbyName: {a: [b]}\n", "byName.a is a list; write a mapping of keys to values\nitems is a mapping; write a list\nnested.path is 7; write a text (quote it)"},
		"a list":                      {"- a\n", "the document is a list; write a mapping of keys to values"},
		"a field that is there twice": {"audit: true\naudit: false\n", "line 2: key \"audit\" already set in map"},
		"not YAML":                    {"a: [", "line 1: a list or mapping is not complete: write a value, and close each [ and {"},
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
