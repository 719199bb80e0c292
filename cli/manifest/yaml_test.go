package manifest

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// kubectl must read back the same values, whatever a string looks like.
func TestYAMLIsReadAsItWas(t *testing.T) {
	values := []string{
		"", " ", "y", "No", "ON", "off", "true", "null", "~", "<<", "=", "0644", "0o644", "0x1f", "0b1", "1_000", "1e3", "1.10", ".5", "-.inf", ".NaN",
		"12:30", "1:20:30.5", "2001-01-01", "2001-01-01T00:00:00Z", "- a", "a: b", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a", "{a", "[a", "|", ">", "?",
		"a\n", "a\nb", "a\n\n", "\na", " a\nb", "a\n b\n", "a\r\nb", "a\tb", "\ta", "a ", "é\u0085b", "\u2028", "\ufeff", "\x01", "'", `"`, `\`, ":", "a:", "-", "---", "...",
	}
	for range 2000 {
		const alphabet = "0123456789abefnoxy_.:+-~ \n\t\r#'\"\\{}[],&*!|>%@`?=<é"
		runes := []rune(alphabet)
		s := make([]rune, rand.IntN(8))
		for i := range s {
			s[i] = runes[rand.IntN(len(runes))]
		}
		values = append(values, string(s))
	}
	for _, s := range values {
		want := map[string]any{"value": s, "list": []any{s, map[string]any{"s": s, "t": []any{}}}, "empty": map[string]any{}, "nothing": nil}
		if !strings.ContainsAny(s, "\n\r") {
			want["key"+s] = true
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		written, err := YAML(text, nil)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		got := map[string]any{}
		if err := yaml.UnmarshalStrict(written, &got); err != nil {
			t.Fatalf("%q: %v\n%s", s, err, written)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +read):\n%s\n%s", s, diff, written)
		}
	}
}

func TestYAMLKeepsNumbers(t *testing.T) {
	written, err := YAML([]byte(`{"b":[1.10,12345678901234567890123,-0,1e3,1E-7,0.0],"a":{"x":[]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "a:\n  x: []\nb:\n- 1.10\n- 12345678901234567890123\n- -0\n- 1e3\n- 1E-7\n- 0.0\n"
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLiterals(t *testing.T) {
	tests := map[string]struct {
		text string
		want Literals
	}{
		"none":             {text: "{apiVersion: v1, kind: A, a: 1, b: '1.10', c: 1.5}"},
		"as JSON":          {text: `{"apiVersion": "v1", "kind": "A", "a": 1.10}`},
		"of every form":    {"{apiVersion: v1, kind: A, a: 1.10, b: [0644, +1, {c/~d: 1_000}]}", Literals{"/a": "1.10", "/b/0": "0644", "/b/1": "+1", "/b/2/c~1~0d": "1_000"}},
		"in a list's item": {"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, a: 1.10}]}", Literals{"/a": "1.10"}},
		"merged":           {"apiVersion: v1\nkind: A\na: &a {x: 1.10, z: 2.0}\nb: {<<: *a}\nc: *a\n", Literals{"/a/x": "1.10", "/a/z": "2.0", "/b/x": "1.10", "/b/z": "2.0", "/c/x": "1.10", "/c/z": "2.0"}},
		"after a marker":   {"--- {apiVersion: v1, kind: A, a: 1.10}", Literals{"/a": "1.10"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			docs, errs := Parse("f", []byte(tc.text))
			if len(errs) > 0 || len(docs) != 1 {
				t.Fatal(docs, errs)
			}
			got, err := docs[0].Literals()
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLiteralsMoveWithTheirItems(t *testing.T) {
	l := Literals{"/a/0": "1.0", "/a/1/x": "2.0", "/a/10/x": "3.0", "/ab/1": "4.0"}
	l.Added("/a/1")
	l.Added("/a/-")
	l.Added("/b")
	want := Literals{"/a/0": "1.0", "/a/2/x": "2.0", "/a/11/x": "3.0", "/ab/1": "4.0"}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.Copied("/a/2", "/b/0")
	l.Removed("/a/2")
	want = Literals{"/a/0": "1.0", "/b/0/x": "2.0", "/a/10/x": "3.0", "/ab/1": "4.0"}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
}
