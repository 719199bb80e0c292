package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/policies/related"
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
		found, _ := x.lister(evaluator, "", "").List("Service", namespace)
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

// TestObjectsAreFoundByNameAndLabels finds in the order of the files, until their
// namespace is judged and afterwards.
func TestObjectsAreFoundByNameAndLabels(t *testing.T) {
	docs, errs := manifest.Parse("all.json", []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}}
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}}
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "broken"}, "spec": {"template": 7}}
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": {"is": "second"}}, "spec": {"template": {"metadata": {"labels": {"app": "web", "tier": "b"}}}}}
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "two"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}}
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	evaluator, err := rules.New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(docs, "default")
	l := x.lister(evaluator, "", "")
	selector, err := related.NewSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, namespace := range []string{"default", ""} {
			var names []string
			index, incomplete := l.Index("Deployment", namespace)
			index.Selected(selector, 9, func(name string) { names = append(names, name) })
			if diff := cmp.Diff([]string{"web", "api", "web"}, names); diff != "" || incomplete != unseen {
				t.Errorf("namespace %q, unseen %q (-want +got):\n%s", namespace, incomplete, diff)
			}
			found, _ := l.Get("Deployment", namespace, "web")
			if found == nil || found.Meta.Annotations != nil {
				t.Errorf("namespace %q: found %+v, want the first", namespace, found)
			}
		}
		if found, _ := l.Get("Deployment", "default", "none"); found != nil {
			t.Errorf("found %+v", found)
		}
		if index, incomplete := l.Index("StatefulSet", "default"); index == nil || incomplete != unseen {
			t.Errorf("index %v, unseen %q", index, incomplete)
		}
		for _, d := range docs {
			x.judged(d)
		}
	}
}

func TestIndex_OfManyObjects_KeepsSomeDecoded(t *testing.T) {
	const n = maxKept + 10
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app-%d"}, "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}}`+"\n", i)
	}
	docs, errs := manifest.Parse("all.json", []byte(text.String()))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	evaluator, err := rules.New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(docs, "default")
	l := x.lister(evaluator, "", "")
	decoded := func() (count int) {
		for _, e := range x.entries {
			if e.typed.Load() != nil {
				count++
			}
		}
		return count
	}
	selector, err := related.NewSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	index, _ := l.Index("Deployment", "default")
	if _, of := index.Selected(selector, 1, func(string) {}); of != n || decoded() != maxKept {
		t.Errorf("%d of %d Deployments found, %d decoded are kept, want %d", of, n, decoded(), maxKept)
	}
	if last, _ := l.Get("Deployment", "default", docs[n-1].Name); last == nil || last.Meta.Name != docs[n-1].Name {
		t.Errorf("found %v", last)
	}
	for _, d := range docs {
		x.judged(d)
	}
	if kept := x.kept.Load(); kept != 0 || decoded() != 0 {
		t.Errorf("%d decoded are kept, %d counted", decoded(), kept)
	}
}

func TestIndex_FindsGeneratedAndRepeatedNames(t *testing.T) {
	docs, errs := manifest.Parse("all.json", []byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": 7}
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "labels": {"is": "first"}}}
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
{"apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "b-"}}
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	evaluator, err := rules.New(policies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := newIndex(docs, "default").lister(evaluator, "", "")
	if a, _ := l.Get("Service", "default", "a"); a == nil || a.Meta.Labels["is"] != "first" {
		t.Errorf("a is %v, want the first that can be decoded", a)
	}
	if generated, _ := l.Get("Service", "default", ""); generated == nil || generated.Meta.GenerateName != "b-" {
		t.Errorf("the Service without a name is %v", generated)
	}
	if found, _ := l.Get("Service", "default", "b-*"); found != nil {
		t.Errorf("found %v by the name that messages have", found)
	}
}
