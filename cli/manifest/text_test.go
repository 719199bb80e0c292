package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const severalDocuments = "\xef\xbb\xbf# about\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  ratio: 1.10\n  text: |\n    first\n" +
	"--- # with a comment\r\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: b}\r\ndata: {x: 0644}\r\n" +
	"---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data: {x: 1e3}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: d}\n" +
	"---\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n \"metadata\": {\"name\": \"e\"}}\n" +
	"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\n"

// places are what usher asks the texts of documents for.
func places(t *testing.T, docs []*Document) (found []any) {
	t.Helper()
	for _, d := range docs {
		for _, path := range []string{"", "kind", "metadata.name", "data.ratio", "data.x", "data.none"} {
			line, column := d.Position(path)
			found = append(found, d.Name, path, line, column, d.Excerpt(line, column))
		}
		line, indent, ok := d.Block("data.text")
		literals, err := d.Literals()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, line, indent, ok, literals)
	}
	return found
}

func TestReadFile_LeavesTextsInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(path, []byte(severalDocuments), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, errs := Parse(path, []byte(severalDocuments))
	if len(errs) > 0 || len(kept) != 6 {
		t.Fatal(len(kept), errs)
	}
	want := places(t, kept)
	left := func(docs []*Document, when string) {
		t.Helper()
		for _, d := range docs {
			if inMemory := d.at.source != nil; inMemory != (d.Name == "e") {
				t.Errorf("%s: the text of %s is in memory: %t", when, d.Name, inMemory)
			}
		}
	}
	for name, read := range map[string]func() ([]*Document, []error){
		"ReadFile":     func() ([]*Document, []error) { return ReadFile(path, nil) },
		"ReadTolerant": func() ([]*Document, []error) { return ReadTolerant(path, nil) },
	} {
		docs, errs := read()
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		left(docs, name)
		for range 2 {
			if diff := cmp.Diff(want, places(t, docs)); diff != "" {
				t.Errorf("%s (-text in memory +text in the file):\n%s", name, diff)
			}
			for _, d := range docs {
				d.ForgetText()
			}
			left(docs, name+", forgotten")
		}
	}
	docs, errs := ReadFile(Stdin, strings.NewReader(severalDocuments))
	for _, d := range docs {
		d.ForgetText()
	}
	if diff := cmp.Diff(want, places(t, docs)); diff != "" || len(errs) > 0 {
		t.Errorf("standard input: %v (-text in memory +text of standard input):\n%s", errs, diff)
	}
}

func TestDocument_OfAChangedFile_HasOnlyItsFirstLine(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"changed":   func(path string) error { return os.WriteFile(path, []byte("# "+severalDocuments), 0o600) },
		"shortened": func(path string) error { return os.Truncate(path, 10) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "all.yaml")
			if err := os.WriteFile(path, []byte(severalDocuments), 0o600); err != nil {
				t.Fatal(err)
			}
			docs, errs := ReadFile(path, nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			second := docs[1]
			if line, column := second.Position("data.x"); line != 9 || column != 1 {
				t.Errorf("position %d:%d, want 9:1", line, column)
			}
			if e := second.Excerpt(9, 1); !e.Withheld {
				t.Errorf("excerpt %+v", e)
			}
			if literals, err := second.Literals(); err == nil || literals != nil {
				t.Errorf("literals %v, %v: numbers may lose their notation", literals, err)
			}
		})
	}
}
