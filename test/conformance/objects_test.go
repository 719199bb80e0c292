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

// describe reads the type and name of an object.
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

// fixtures reads the objects of the rules' fixtures, verdict being allow, deny
// or a pattern for both, and valid objects with many fields.
func fixtures(t testing.TB, verdict string) []object {
	t.Helper()
	var paths []string
	for _, pattern := range []string{
		"../../policies/rules/testdata/*/" + verdict + "/*.yaml", "../../cli/apiserver/testdata/*/" + verdict + "/*.yaml",
		"../../policies/benchdata/*.yaml", "testdata/valid/*.yaml",
	} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("no objects in %s: %v", pattern, err)
		}
		paths = append(paths, more...)
	}
	var objects []object
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			raw := []byte(part)
			if part[0] != '{' { // YAML would drop duplicates
				if raw, err = yaml.YAMLToJSON(raw); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			objects = append(objects, describe(strings.TrimPrefix(path, "../../"), raw))
		}
	}
	return objects
}
