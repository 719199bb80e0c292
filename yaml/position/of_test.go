package position_test

import (
	"testing"

	"github.com/usher-dev/usher/yaml/position"
)

const document = `# a comment
metadata:
  name: n
  labels: {plain: a, "a.b/c": d}
spec:
  containers:
  - name: first
    args: [one, two]
  -   name: second
      image: i
  shared: &shared {key: value}
  alias: *shared
  merged:
    <<: *shared
  3: numeric
`

func TestSource_Of(t *testing.T) {
	type place struct{ line, column int }
	tests := map[string]struct {
		text string
		path string
		want place
	}{
		"a field":                             {document, "metadata.name", place{3, 3}},
		"nothing: the document's first field": {document, "", place{2, 1}},
		"an item of a list":                   {document, "spec.containers[1]", place{9, 7}},
		"a field of an item":                  {document, "spec.containers[1].image", place{10, 7}},
		"an item of a list in a line":         {document, "spec.containers[0].args[1]", place{8, 17}},
		"a key with dots and a slash":         {document, "metadata.labels[a.b/c]", place{4, 22}},
		"a key in brackets without need":      {document, "metadata[labels].plain", place{4, 12}},
		"a key that is a number":              {document, "spec[3]", place{15, 3}},
		"behind an alias":                     {document, "spec.alias.key", place{11, 20}},
		"a field that is absent":              {document, "metadata.labels.other.deep", place{4, 3}},
		"an item beyond the end":              {document, "spec.containers[7].name", place{6, 3}},
		"an item before the beginning":        {document, "spec.containers[-1]", place{6, 3}},
		"an item that is not a number":        {document, "spec.containers[x]", place{6, 3}},
		"below a value":                       {document, "metadata.name.more", place{3, 3}},
		"what a merge key brings":             {document, "spec.merged.key", place{13, 3}},
		"a bracket that does not close":       {document, "metadata.labels[plain", place{4, 12}},
		"dots alone":                          {document, "...", place{2, 1}},
		"JSON":                                {`{"a":[{"b":1}]}`, "a[0].b", place{1, 8}},
		"JSON over lines":                     {"{\n \"a\": {\n  \"b\": 1}}", "a.b", place{3, 3}},
		"no YAML":                             {"a: [", "a", place{1, 1}},
		"empty":                               {"", "a", place{1, 1}},
		"a list as the document":              {"- a\n- b\n", "[1]", place{2, 3}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			line, column := position.New([]byte(tc.text), 1).Of(tc.path)
			if got := (place{line, column}); got != tc.want {
				t.Errorf("%q is at %v, want %v", tc.path, got, tc.want)
			}
		})
	}
}

// TestSource_Of_DocumentWithinAFile counts lines from the beginning of the document.
func TestSource_Of_DocumentWithinAFile(t *testing.T) {
	source := position.New([]byte(document), 40)
	if line, column := source.Of("metadata.name"); line != 42 || column != 3 {
		t.Errorf("got %d:%d, want 42:3", line, column)
	}
	if line, column := position.New([]byte("a: ["), 40).Of("a"); line != 40 || column != 1 {
		t.Errorf("got %d:%d, want 40:1", line, column)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(document, "spec.containers[1].image")
	f.Add("a: &a [*a]", "a[0][0][0]")
	f.Add("? {a: b}\n: c", "[{a: b}]")
	f.Fuzz(func(t *testing.T, text, path string) {
		if line, column := position.New([]byte(text), 1).Of(path); line < 1 || column < 1 {
			t.Errorf("%q in %q is at %d:%d", path, text, line, column)
		}
	})
}
