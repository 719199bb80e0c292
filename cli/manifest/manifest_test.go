package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	type doc struct {
		Line int
		Name string
		JSON string
	}
	tests := map[string]struct {
		in   string
		docs []doc
		errs []string
	}{
		"documents are cut at their markers and keep their lines": {
			in:   "# head\n---\nkind: A\napiVersion: v1\n--- # next\nkind: B\napiVersion: v1\n",
			docs: []doc{{2, "a/", `{"apiVersion":"v1","kind":"A"}`}, {5, "b/", `{"apiVersion":"v1","kind":"B"}`}},
		},
		"a broken document hides itself alone": {
			in:   "kind: A\napiVersion: v1\n---\nx: [\n---\nkind: B\napiVersion: v1\n",
			docs: []doc{{1, "a/", `{"apiVersion":"v1","kind":"A"}`}, {5, "b/", `{"apiVersion":"v1","kind":"B"}`}},
			errs: []string{"f:4: YAML: a list or mapping is not complete: write a value, and close each [ and {"},
		},
		"a key given twice is an error at its line": {
			in:   "kind: A\napiVersion: v1\nkind: B\n",
			errs: []string{`f:3: YAML: key "kind" already set in map`},
		},
		"a merged key may be set again": {
			in:   "kind: A\napiVersion: v1\na: &a {x: 1, z: 2}\nb: {<<: *a, x: 3}\n",
			docs: []doc{{1, "a/", `{"a":{"x":1,"z":2},"apiVersion":"v1","b":{"x":3,"z":2},"kind":"A"}`}},
		},
		"a merged key must not be set twice": {
			in:   "kind: A\napiVersion: v1\na: &a {x: 1, z: 2}\nb:\n  <<: *a\n  x: 3\n  x: 4\n",
			errs: []string{`f:6: YAML: key "x" already set in map; line 7: key "x" already set in map`},
		},
		"comments of other languages are named at their lines": {
			in: "kind: A\n---\n// one\nkind: B\nx: # fine\n  - \"\" // two\n  - 'no //comment'\n  - |\n    sh // text\n  - http://x\n",
			errs: []string{
				"f:3: YAML: // does not start a comment; write #",
				"f:6: YAML: // does not start a comment; write #",
			},
			docs: []doc{{1, "a/", `{"kind":"A"}`}},
		},
		"slashes next to another fault are not blamed": {
			in:   "// one\nx: [\n",
			errs: []string{"f:2: YAML: a second colon follows on this line, or the line is indented too far: quote the value, or correct the indentation"},
		},
		"JSON is kept byte for byte": {
			in:   ` {"kind":"A", "apiVersion":"v1","n":1.50}` + "\n" + `{"kind":"B","apiVersion":"v1"}`,
			docs: []doc{{1, "a/", `{"kind":"A", "apiVersion":"v1","n":1.50}`}, {2, "b/", `{"kind":"B","apiVersion":"v1"}`}},
		},
		"a key given twice in JSON is an error": {
			in:   `{"kind":"A","kind":"B"}`,
			errs: []string{`f:1: JSON: jsontext: duplicate object member name "kind"`},
		},
		"YAML's flow style is not taken for JSON": {
			in:   "{kind: A, apiVersion: v1}",
			docs: []doc{{1, "a/", `{"apiVersion":"v1","kind":"A"}`}},
		},
		"a List is opened up": {
			in: "kind: List\napiVersion: v1\nitems:\n- kind: A\n  apiVersion: v1\n- kind: B\n  apiVersion: v1\n  metadata: {name: b}\n",
			docs: []doc{
				{4, "a/", `{"apiVersion":"v1","kind":"A"}`},
				{6, "b/b", `{"apiVersion":"v1","kind":"B","metadata":{"name":"b"}}`},
			},
		},
		"Lists in Lists are opened up, and the broken hide themselves alone": {
			in: "kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n  - kind: A\n    apiVersion: v1\n- " +
				strings.Repeat("{kind: List, apiVersion: v1, items: [", 16) + strings.Repeat("]}", 16) + "\n- kind: B\n  apiVersion: v1\n",
			docs: []doc{{7, "a/", `{"apiVersion":"v1","kind":"A"}`}, {10, "b/", `{"apiVersion":"v1","kind":"B"}`}},
			errs: []string{"f:9: a List is nested in 16 others: write its objects as documents, separated by ---"},
		},
		"the items of a typed List get its kind": {
			in:   `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"}},{}]}`,
			docs: []doc{{1, "pod/p", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`}, {1, "pod/", `{"apiVersion":"v1","kind":"Pod"}`}},
		},
		"comments without an object are not a document": {in: "# nothing\n---\n# here\n"},
		"a header of wrong types is still read": {
			in:   "kind: Pod\napiVersion: v1\nmetadata: {name: p, namespace: 5}\n",
			docs: []doc{{1, "pod/p", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":5}}`}},
		},
		"an alias bomb is refused": {
			in:   bomb(),
			errs: []string{"f:1: YAML: document contains excessive aliasing"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			docs, errs := Parse("f", []byte(tc.in))
			var got []doc
			for _, d := range docs {
				got = append(got, doc{d.Line, d.String(), string(d.JSON)})
			}
			var gotErrs []string
			for _, err := range errs {
				gotErrs = append(gotErrs, err.Error())
			}
			if diff := cmp.Diff(tc.docs, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.errs, gotErrs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		prev, cur := string(rune('0'+i-1)), string(rune('0'+i))
		b.WriteString("a" + cur + ": &a" + cur + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+",", 9), ",") + "]\n")
	}
	return b.String()
}

func TestPositionsInListsInListsAreThoseOfTheFile(t *testing.T) {
	docs, errs := Parse("f", []byte("kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n  - kind: A\n    apiVersion: v1\n    spec:\n      x: 1\n"))
	if len(docs) != 1 || len(errs) > 0 {
		t.Fatal(docs, errs)
	}
	if line, column := docs[0].Position("spec.x"); line != 10 || column != 7 {
		t.Errorf("spec.x is at %d:%d, want 10:7", line, column)
	}
}

func TestPosition(t *testing.T) {
	docs, errs := Parse("f", []byte(`---
kind: Pod
apiVersion: v1
metadata:
  labels:
    app.kubernetes.io/name: x
spec:
  containers:
  - name: a
    image: b
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	tests := map[string][2]int{
		"spec.containers[0].image":                {10, 5},
		"spec.containers[0]":                      {9, 5},
		"metadata.labels[app.kubernetes.io/name]": {6, 5},
		"spec.containers[0].ports[1]":             {9, 5},
		"spec.containers[7]":                      {8, 3},
		"status.phase":                            {2, 1},
	}
	for path, want := range tests {
		line, column := docs[0].Position(path)
		if diff := cmp.Diff(want, [2]int{line, column}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestReadNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("good.yaml", "kind: A\napiVersion: v1\n")
	write("binary.yaml", "a\x00b")
	write("large.json", strings.Repeat(" ", MaxFileBytes+1))
	write("notes.txt", "kind: B")
	for link, target := range map[string]string{"loop.yaml": "loop.yaml", "up": "."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	docs, errs := Read([]string{dir, filepath.Join(dir, "absent")}, strings.NewReader(""))
	if len(docs) != 1 || docs[0].Kind != "A" {
		t.Errorf("got %v, want the good document alone", docs)
	}
	var got []string
	for _, err := range errs {
		got = append(got, strings.TrimPrefix(err.Error(), dir+"/"))
	}
	want := []string{
		"absent: no such file or directory",
		"binary.yaml: a binary file, neither YAML nor JSON",
		"large.json: larger than 16 MiB; split it",
		"loop.yaml: too many levels of symbolic links",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("kind: A\napiVersion: v1\n---\nx: [\n"))
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"}},{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, _ := Parse("f", data)
		for _, d := range docs {
			if line, column := d.Position("spec.containers[0]"); line < 1 || column < 1 {
				t.Errorf("position %d:%d", line, column)
			}
		}
	})
}
