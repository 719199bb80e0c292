package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// An object is a manifest that is judged twice.
type object struct {
	from, apiVersion, kind, namespace string
	raw                               []byte
}

// describe reads what an object says it is.
func describe(from string, raw []byte) object {
	var head struct {
		APIVersion any            `json:"apiVersion"`
		Kind       any            `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &head) // what has another shape has none of these
	o := object{from: from, raw: raw}
	o.apiVersion, _ = head.APIVersion.(string)
	o.kind, _ = head.Kind.(string)
	o.namespace, _ = head.Metadata["namespace"].(string)
	return o
}

// fixtures reads the objects of the rules' fixtures; verdict is allow, deny or
// a pattern for both.
func fixtures(t testing.TB, verdict string) []object {
	t.Helper()
	paths, err := filepath.Glob("../../policies/testdata/*/" + verdict + "/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	more, err := filepath.Glob("../../policies/benchdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var objects []object
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			raw, err := yaml.YAMLToJSON([]byte(part))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			objects = append(objects, describe(strings.TrimPrefix(path, "../../policies/"), raw))
		}
	}
	return objects
}
