package apiserver

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/verdict"
)

// TestValidator_OfCopies_JudgesADefinitionOnce counts allocations: the server needs
// thousands to compile a schema.
func TestValidator_OfCopies_JudgesADefinitionOnce(t *testing.T) {
	text, err := os.ReadFile("../../deploy/base/crds/etcd.database.coreos.com_etcdclusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const few = 100
	define := func() {
		if refusals, _, err := v.Define(raw); len(refusals) > 0 || err != nil {
			t.Fatal(refusals, err)
		}
	}
	define()
	if n := testing.AllocsPerRun(5, define); n > few {
		t.Errorf("Define of a copy makes %v allocations", n)
	}
	validate := func() {
		object := verdict.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", JSON: raw}
		if found := v.Validate(object, nil, &verdict.Facts{}); len(found) > 0 {
			t.Fatal(found)
		}
	}
	validate()
	if n := testing.AllocsPerRun(5, validate); n > few {
		t.Errorf("Validate of a copy makes %v allocations", n)
	}
}

func TestValidator_OfCopies_FindsTheSame(t *testing.T) {
	v, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	const bad = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
"spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "wrong"}}}}}]}}`
	other := strings.ReplaceAll(bad, `"wrong"`, `"string"`)
	different := strings.ReplaceAll(bad, `"wrong"`, `"integer"`)
	object := verdict.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", JSON: []byte(bad)}
	first := v.Validate(object, nil, &verdict.Facts{})
	if len(first) == 0 {
		t.Fatal("nothing was found")
	}
	want := slices.Clone(first)
	first[0].Field, first[0].Message = "changed", "by the caller"
	if diff := cmp.Diff(want, v.Validate(object, nil, &verdict.Facts{})); diff != "" {
		t.Errorf("findings in the copy (-first +second):\n%s", diff)
	}
	for range 2 {
		if refusals, _, err := v.Define([]byte(bad)); len(refusals) == 0 || err != nil {
			t.Errorf("%v, %v", refusals, err)
		}
		if refusals, _, err := v.Define([]byte(other)); len(refusals) > 0 || err != nil {
			t.Errorf("%v, %v", refusals, err)
		}
		if refusals, variant, err := v.Define([]byte(different)); !variant || len(refusals) > 0 || err != nil {
			t.Errorf("another definition of the kind: variant %v, %v, %v", variant, refusals, err)
		}
	}
}
