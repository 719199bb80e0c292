package transition

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func TestObjectsDecodeAsInTheAPIServer(t *testing.T) {
	texts := []string{
		`{"a":1,"b":1.0,"c":1e3,"d":-0,"e":9223372036854775807,"f":9223372036854775808,"g":0.1}`,
		`{"a":1e999}`, `{"a":null,"b":[],"c":{},"d":[null,{}],"e":true,"f":false}`, `{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`,
		"{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"A":1,"a":2}`, ` {"a":1} `, `{} {}`, `[]`, `null`, `"a"`, ``, `{`, `{"a"}`, `{"a":[1,}`,
	}
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(object))
	}
	for _, text := range texts {
		var want map[string]any
		wantErr := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &want)
		got, err := interner{}.decode([]byte(text))
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, the API server's decoder says %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
