package position_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/yaml/position"
)

// excerpted is the whole document as excerpts show it, line by line.
func excerpted(text string) string {
	source := position.New([]byte(text), 1)
	var lines []string
	for n := range strings.Count(strings.TrimRight(text, "\n"), "\n") + 1 {
		e := source.Excerpt(n+1, 1)
		if e.Withheld {
			return "withheld"
		}
		lines = append(lines, e.Lines[n+1-e.First])
	}
	return strings.Join(lines, "\n")
}

func TestExcerpt_ValuesOfVariables_AreConcealed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a plain value": {
			"env:\n- name: A\n  value: hunter2 # old: hunter3\n- name: B\n  value: x", "env:\n- name: A\n  value: ••• # old: hunter3\n- name: B\n  value: •••",
		},
		"a plain value over lines":     {"env:\n- value: hunter2\n    hunter3\n  name: A", "env:\n- value: •••\n•••\n  name: A"},
		"quoted values":                {`env: [{name: A, value: "hun\"ter2"}, {value: 'hun''ter2', name: B}]`, `env: [{name: A, value: •••}, {value: •••, name: B}]`},
		"a quoted value over lines":    {"env:\n- value: \"hunter2\n    hunter3\"\n  name: A", "env:\n- value: •••\n•••\n  name: A"},
		"a block":                      {"env:\n- name: A\n  value: |\n    hunter2\n\n    hunter3\n- name: B", "env:\n- name: A\n  value: •••\n•••\n\n•••\n- name: B"},
		"a folded block at the end":    {"env:\n- name: A\n  value: >-\n    hunter2\n    hunter3\n", "env:\n- name: A\n  value: •••\n•••\n•••"},
		"a mapping":                    {"env:\n- value: {a: hunter2,\n    b: hunter3}\n  name: A", "env:\n- value: •••\n•••\n  name: A"},
		"an alias":                     {"x: &p hunter2\nenv:\n- {name: A, value: *p}\ny: 1", "x: •••\nenv:\n- {name: A, value: *p}\ny: 1"},
		"an alias of the list":         {"x: &e\n- value: hunter2\nenv: *e", "x: &e\n- value: •••\nenv: *e"},
		"a merged mapping":             {"x: &m {value: hunter2}\nenv:\n- <<: *m\n  name: A", "x: &m {value: •••}\nenv:\n- <<: *m\n  name: A"},
		"a mapping that merges itself": {"env:\n- &m\n  <<: *m\n  value: hunter2", "env:\n- &m\n  <<: *m\n  value: •••"},
		"a tag":                        {"env:\n- value: !!str hunter2\n  name: A", "env:\n- value: •••\n  name: A"},
		"JSON":                         {`{"env":[{"name":"A","value":"hunter2"}],"image":"x"}`, `{"env":[{"name":"A","value":•••}],"image":"x"}`},
		"characters of many bytes":     {"env: [{name: \"äöü\", value: \"hünter2\"}] # ö", "env: [{name: \"äöü\", value: •••}] # ö"},
		"a reference":                  {"env:\n- name: A\n  valueFrom: {secretKeyRef: {name: s, key: k}}", "env:\n- name: A\n  valueFrom: {secretKeyRef: {name: s, key: k}}"},
		"a template in a ConfigMap": {
			"data:\n  config: |\n    containers:\n    - name: c\n      env:\n      - name: A\n        value: hunter2\n      image: i\nkind: ConfigMap",
			"data:\n  config: |\n    containers:\n    - name: c\n      env:\n      - name: A\n        value: •••\n      image: i\nkind: ConfigMap",
		},
		"a template in quotes":       {`data: {config: "env: [{name: A, value: hunter2}]"}`, `data: {config: •••}`},
		"a template that is broken":  {"data:\n  config: |\n    env: [\n    value: hunter2\nkind: ConfigMap", "data:\n  config: •••\n•••\n•••\nkind: ConfigMap"},
		"what kubectl applied last":  {"annotations:\n  kubectl.kubernetes.io/last-applied-configuration: |\n    {\"a\": \"hunter2\"}\nb: c", "annotations:\n  kubectl.kubernetes.io/last-applied-configuration: •••\n•••\nb: c"},
		"other fields are not":       {"value: shown\nenvironment: [{value: shown}]", "value: shown\nenvironment: [{value: shown}]"},
		"line breaks of Windows":     {"env:\r\n- name: A\r\n  value: hunter2\r\n- name: B", "env:\n- name: A\n  value: •••\n- name: B"},
		"a variable with no content": {"env:\n- name: A\n  value:\n- name: B\n  value: \"\"", "env:\n- name: A\n  value:\n- name: B\n  value: \"\""},
	} {
		t.Run(name, func(t *testing.T) {
			got := excerpted(c.text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExcerpt_DocumentWithASecret_IsWithheld(t *testing.T) {
	for name, text := range map[string]string{
		"a Secret":                   "apiVersion: v1\nkind: Secret\nstringData: {a: hunter2}",
		"its kind in quotes":         `"k\x69nd": "Secret"`,
		"its kind twice":             "kind: ConfigMap\nother: {kind: Secret}",
		"in a List":                  `{"kind":"List","items":[{"kind":"Pod"},{"kind":"Secret","data":{"a":"aHVudGVyMg=="}}]}`,
		"in a SecretList":            "kind: SecretList\nitems: [{data: {a: hunter2}}]",
		"behind an alias":            "x: &k Secret\nkind: *k",
		"as text":                    "data:\n  all.yaml: |\n    kind: Secret\n    stringData: {a: hunter2}",
		"as JSON in an annotation":   `metadata: {annotations: {a: "{\"kind\":\"Secret\"}"}}`,
		"as JSON in JSON":            `{"a":"{\"b\":\"{\\\"kind\\\":\\\"Secret\\\"}\"}"}`,
		"in lower case":              "kind: secret",
		"a document that is no YAML": "a: [",
		"an empty document":          "",
	} {
		t.Run(name, func(t *testing.T) {
			if e := position.New([]byte(text), 1).Excerpt(1, 1); !e.Withheld || len(e.Lines) > 0 {
				t.Errorf("shown: %q", e.Lines)
			}
		})
	}
}

func TestExcerpt_Lines(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 300) + `","b":1}`
	for name, c := range map[string]struct {
		text               string
		first, line, col   int
		wantFirst          int
		wantLines          []string
		wantLongestInRunes int
	}{
		"in the middle":        {"a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n", 1, 4, 1, 2, []string{"b: 2", "c: 3", "d: 4", "e: 5", "f: 6"}, 0},
		"at the beginning":     {"a: 1\nb: 2\nc: 3\nd: 4\n", 10, 10, 1, 10, []string{"a: 1", "b: 2", "c: 3"}, 0},
		"at the end":           {"a: 1\nb: 2\nc: 3\nd: 4", 1, 4, 1, 2, []string{"b: 2", "c: 3", "d: 4"}, 0},
		"without empty edges":  {"\n\nb: 2\n\n\nc: 3", 1, 3, 1, 3, []string{"b: 2"}, 0},
		"before the document":  {"a: 1\n", 10, 3, 1, 10, []string{"a: 1"}, 0},
		"after the document":   {"a: 1\n", 10, 30, 1, 10, []string{"a: 1"}, 0},
		"a long line, cut":     {long, 1, 1, 310, 1, nil, 162},
		"a line that is a lot": {`{"a":"` + strings.Repeat("x", 20000) + `"}`, 1, 1, 1, 1, []string{"… (20008 bytes)"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := position.New([]byte(c.text), c.first).Excerpt(c.line, c.col)
			if e.First != c.wantFirst || c.wantLines != nil && !cmp.Equal(e.Lines, c.wantLines) {
				t.Errorf("got %+v", e)
			}
			if c.wantLongestInRunes > 0 && (len([]rune(e.Lines[0])) > c.wantLongestInRunes || !strings.Contains(e.Lines[0], `"b":1`)) {
				t.Errorf("got %q", e.Lines[0])
			}
		})
	}
}

// FuzzExcerpt looks for a value of a variable, or a Secret's data, in every
// excerpt of a document.
func FuzzExcerpt(f *testing.F) {
	for _, layout := range []string{
		"env:\n- name: A\n  value: %s\n- name: B", "{\"env\": [{\"value\": %s}]}", "x: &a %s\nenv: [{value: *a}]\n", "kind: Secret\ndata: {a: %s}\n", "env:\n- value: |\n    %s\n",
	} {
		f.Add(layout, "hunter2hunter2")
		f.Add(layout, "\"hunter2\n  hunter2\"")
	}
	f.Fuzz(func(_ *testing.T, layout, value string) {
		text := layout
		if strings.Count(layout, "%") == 1 && strings.Contains(layout, "%s") {
			text = fmt.Sprintf(layout, value)
		}
		source := position.New([]byte(text), 1)
		for n := range min(50, strings.Count(text, "\n")+2) {
			source.Excerpt(n, n)
		}
	})
}
