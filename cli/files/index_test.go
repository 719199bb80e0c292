package files

import (
	"testing"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/rules"
)

const twoNamespaces = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "one"}}
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "one"}}
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c", "namespace": "two"}}
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d", "namespace": "one"}}
`

func TestDecodedObjectsAreKeptUntilTheirNamespaceIsJudged(t *testing.T) {
	docs, errs := manifest.Parse("all.json", []byte(twoNamespaces))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	evaluator, err := rules.New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(docs, "default")
	service := func(namespace string) *policies.Object {
		t.Helper()
		found, _ := x.lister(evaluator).List("Service", namespace)
		if len(found) != 1 {
			t.Fatalf("%d Services in namespace %s", len(found), namespace)
		}
		return found[0]
	}
	one, two := service("one"), service("two")
	x.judged(docs[0])
	x.judged(docs[3]) // of a kind that rules do not read
	if service("one") != one || x.decoded(docs[0], evaluator) != one {
		t.Error("the Service was decoded twice, although an object of its namespace is yet to be judged")
	}
	x.judged(docs[1])
	if again := service("one"); again == one || again.Meta.Name != "a" {
		t.Errorf("the Service was kept after its namespace was judged, or is another: %v", again.Meta)
	}
	if service("two") != two {
		t.Error("the Service of another namespace was decoded twice")
	}
}
