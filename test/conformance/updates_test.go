package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/verdict"
)

// TestUpdatesAreJudgedAsTheServerJudgesThem creates objects, changes one to three
// fields of each like kubectl apply, and compares the results: usher's for only
// the manifests, and for the stored object.
func TestUpdatesAreJudgedAsTheServerJudgesThem(t *testing.T) {
	c := newCluster(t)
	storageClass(t, c)
	var valid []object
	for _, o := range judge(t, fixtures(t, "allow")) {
		if o.server.accepted && o.agrees() && harmless(&o.object) {
			valid = append(valid, o.object)
		}
	}
	valid = evenly(valid, 20)
	random := rand.New(rand.NewPCG(*seed, 3))
	files, live := newScore("updates of manifests"), newScore("updates of live objects")
	for n := 0; files.judged < *updates && n < 4**updates; n++ {
		old := parsed(t, valid[random.IntN(len(valid))].raw)
		rename(t, old, n)
		new, what := varied(t, random, old)
		if new == nil {
			continue
		}
		was, err := c.create(t, old)
		if err != nil {
			continue // another object conflicts with it
		}
		was = c.settled(t, was)
		how, patch, err := threeWayOf(t, old, new, was)
		if err != nil {
			c.remove(t, was)
			continue // kubectl reports an error and sends nothing
		}
		_, err = c.of(was).Patch(t.Context(), was.GetName(), how, patch,
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		if now, gone := c.of(was).Get(t.Context(), was.GetName(), metav1.GetOptions{}); gone == nil && now.GetResourceVersion() == was.GetResourceVersion() {
			judgeUpdate(t, files, old, new, old, what, err)
			judgeUpdate(t, live, was, c.applied(t, old, new, was), old, what, err)
		} // otherwise a controller of the server was faster
		c.remove(t, was)
	}
	files.report(t, min(required(), 99.5))
	live.report(t, min(required(), 99.5))
}

// harmless reports whether an object can exist for a while without affecting
// the server's results for others: it must not configure the admission of their
// kinds.
func harmless(o *object) bool {
	if !strings.HasPrefix(o.apiVersion, "admissionregistration.k8s.io/") {
		return true
	}
	return !strings.Contains(string(o.raw), `"apiGroups":`) || strings.Count(string(o.raw), `"apiGroups":`) == strings.Count(string(o.raw), `"apiGroups":["example.com"]`)
}

func parsed(t *testing.T, raw []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// rename gives an object a unique name. If its name has a meaning, the test
// changes that, too.
func rename(t *testing.T, o *unstructured.Unstructured, n int) {
	t.Helper()
	set := func(value string, path ...string) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	group := fmt.Sprintf("update-%d.example.com", n)
	switch o.GetKind() {
	case "IPAddress", "ResourceSlice", "CSIDriver":
	case "CustomResourceDefinition":
		plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
		set(group, "spec", "group")
		o.SetName(plural + "." + group)
	case "APIService":
		version, _, _ := unstructured.NestedString(o.Object, "spec", "version")
		set(group, "spec", "group")
		o.SetName(version + "." + group)
	default:
		o.SetGenerateName("")
		o.SetName(fmt.Sprintf("update-%d", n))
	}
}

// varied returns an object with one to three changes, or nil.
func varied(t *testing.T, random *rand.Rand, old *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	t.Helper()
	m := mutator{Rand: random}
	new := old.DeepCopy()
	for range 1 + random.IntN(3) {
		m.change(new.Object)
	}
	raw, err := json.Marshal(new.Object)
	if err != nil {
		return nil, ""
	}
	new = parsed(t, raw)
	if metadata, ok := new.Object["metadata"].(map[string]any); ok {
		// Another name means another object.
		was := old.Object["metadata"].(map[string]any)
		delete(metadata, "generateName")
		for _, field := range []string{"name", "namespace"} {
			delete(metadata, field)
			if value, ok := was[field]; ok {
				metadata[field] = value
			}
		}
	} else {
		return nil, ""
	}
	new.SetAPIVersion(old.GetAPIVersion())
	new.SetKind(old.GetKind())
	return new, strings.Join(m.done, ", ")
}

// applied returns the result of kubectl apply on a live object, as in usher
// diff --live.
func (c cluster) applied(t *testing.T, old, new, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	raw, err := validator.Applied(live.GetAPIVersion(), live.GetKind(), marshal(t, withoutStatus(old)), marshal(t, withoutStatus(new)), marshal(t, live))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, raw)
}

func judgeUpdate(t *testing.T, s *score, old, new, manifest *unstructured.Unstructured, what string, refusal error) {
	t.Helper()
	o := object{kind: new.GetKind(), apiVersion: new.GetAPIVersion(), namespace: cmp.Or(new.GetNamespace(), "default"), raw: marshal(t, withoutStatus(new))}
	_, found := predictions(o, &verdict.Object{APIVersion: old.GetAPIVersion(), Kind: old.GetKind(), Namespace: o.namespace, Name: old.GetName(), JSON: marshal(t, old)})
	why := "invented: " + o.kind
	if refusal != nil {
		why = "missed: " + o.kind + " " + cause(refusal)
	} else if len(found) > 0 {
		why += " " + indexes.ReplaceAllString(found[0].Field, "") + " " + found[0].Message
	}
	s.add(o.kind, why, (refusal != nil) == (len(found) > 0), refusal == nil, func() string {
		var status apierrors.APIStatus
		said := fmt.Sprint(refusal)
		if errors.As(refusal, &status) {
			said = status.Status().Message
		}
		return what + "\nold: " + string(marshal(t, manifest)) + "\nnew: " + string(o.raw) + "\nserver: " + said
	})
}
