package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/cli/apiserver"
	"github.com/usher-dev/usher/policies/ruledocs"
	"github.com/usher-dev/usher/verdict"
	"github.com/usher-dev/usher/yaml/position"
)

// TestEveryChangeBetweenVersionsIsAsTheServerHasIt sends the fixture of each
// change to the server, which is of a version before the change or after it, and
// compares usher's verdict.
func TestEveryChangeBetweenVersionsIsAsTheServerHasIt(t *testing.T) {
	c := newCluster(t)
	changes := apiserver.Changes()
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		t.Run(id, func(t *testing.T) {
			fixture := readChange(t, id)
			want := fixture.after
			if int(serverVersion.Minor()) < changes[id] {
				want = fixture.before
			}
			name(fixture.objects, "change-"+id)
			var got, predicted string
			if len(fixture.objects) == 1 {
				got, predicted = c.reaction(t, nil, fixture.objects[0]), prediction(t, nil, fixture.objects[0])
			} else {
				got, predicted = c.reaction(t, fixture.objects[0], fixture.objects[1]), prediction(t, fixture.objects[0], fixture.objects[1])
			}
			if fixture.from != "" && later(fixture.from) {
				want = got // the server does not have the field, or drops it
			}
			if got != want || predicted != want {
				t.Errorf("Kubernetes %s %s, usher says that it %s, and the fixture that it %s", serverVersion, got, predicted, want)
			}
		})
	}
	files, err := os.ReadDir("testdata/changes")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if changes[strings.TrimSuffix(file.Name(), ".yaml")] == 0 {
			t.Errorf("testdata/changes/%s belongs to no change", file.Name())
		}
	}
}

// A changeFixture is an object, or an old and a new one, and the server's
// reaction before and after the change.
type changeFixture struct {
	before, after string
	from          string // the first version that keeps all of its fields, if it is not the oldest
	objects       []*unstructured.Unstructured
}

var reactionLine = regexp.MustCompile(`(?m)^# (before|after|from): (.*)\n`)

func readChange(t *testing.T, id string) (f changeFixture) {
	t.Helper()
	path := filepath.Join("testdata", "changes", id+".yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range reactionLine.FindAllSubmatch(text, -1) {
		switch string(m[1]) {
		case "before":
			f.before = string(m[2])
		case "after":
			f.after = string(m[2])
		case "from":
			f.from = string(m[2])
		}
	}
	for _, part := range bytes.Split(reactionLine.ReplaceAll(text, nil), []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(part, &o.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f.objects = append(f.objects, o)
	}
	return f
}

func name(objects []*unstructured.Unstructured, name string) {
	for _, o := range objects {
		o.SetName(name)
		o.SetNamespace("default")
	}
}

var unknownField = regexp.MustCompile(`strict decoding error: unknown field "([^"]*)"`)

// reaction says what the server does with a new object, or with a change.
func (c cluster) reaction(t *testing.T, old, new *unstructured.Unstructured) string {
	t.Helper()
	var stored *unstructured.Unstructured
	var err error
	if old == nil {
		stored, err = c.of(new).Create(t.Context(), new, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	} else {
		live, created := c.create(t, old)
		if created != nil {
			t.Fatal(created)
		}
		defer c.remove(t, live)
		stored, err = c.apply(t, old, new, live)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		return "refuses " + status.Status().Details.Causes[0].Field
	}
	if unknown := unknownField.FindStringSubmatch(fmt.Sprint(err)); unknown != nil {
		return "refuses " + unknown[1]
	}
	if err != nil {
		t.Fatal(err)
	}
	if lost := lost(new.Object, stored.Object); len(lost) > 0 {
		return "drops " + strings.Join(lost, " ")
	}
	return "accepts"
}

// prediction is what usher says of it.
func prediction(t *testing.T, old, new *unstructured.Unstructured) string {
	t.Helper()
	object := func(o *unstructured.Unstructured) verdict.Object {
		return verdict.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), JSON: marshal(t, o)}
	}
	var was *verdict.Object
	if old != nil {
		o := object(old)
		was = &o
	}
	var dropped []string
	for _, f := range validator.Validate(object(new), was, &verdict.Facts{}) {
		switch {
		case f.RefusedByServer:
			return "refuses " + f.Field
		case f.Rule == ruledocs.DroppedField:
			dropped = append(dropped, f.Field)
		}
	}
	if len(dropped) > 0 {
		return "drops " + strings.Join(dropped, " ")
	}
	return "accepts"
}

// lost lists the fields of an object, but metadata and status, that are not in
// what the server stores, unless they are empty, which it need not write.
func lost(written, stored map[string]any) []string {
	var paths []string
	var walk func(path string, before, after any)
	walk = func(path string, before, after any) {
		switch before := before.(type) {
		case map[string]any:
			after, ok := after.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(before)) {
				at := strings.TrimPrefix(path+"."+key, ".")
				value, kept := after[key]
				switch {
				case at == "metadata" || at == "status" || empty(before[key]):
				case !ok || !kept:
					paths = append(paths, at)
				default:
					walk(at, before[key], value)
				}
			}
		case []any:
			after, ok := after.([]any)
			for i := range before {
				if ok && len(after) >= len(before) { // admission appends, such as the volume of the token
					walk(fmt.Sprintf("%s[%d]", path, i), before[i], after[i])
				}
			}
		}
	}
	walk("", written, stored)
	return paths
}

// empty reports values that an encoder may leave out.
func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return slices.Contains([]any{nil, "", false, int64(0), float64(0)}, value)
}

// TestTheServerDropsWhatUsherSays compares, for the generated objects that both
// accept, what the server stores with the fields that usher says it drops.
func TestTheServerDropsWhatUsherSays(t *testing.T) {
	dropped := 0
	for _, o := range judge(t, variations(*seed, *creates/2, validObjects(t))) {
		if !o.server.accepted || !o.agrees() || o.kind == "Secret" { // a Secret's stringData is only written
			continue
		}
		var written, stored map[string]any
		if json.Unmarshal(o.raw, &written) != nil || json.Unmarshal(o.server.stored, &stored) != nil {
			t.Fatalf("%s does not decode", o.from)
		}
		var got []string
		for _, f := range o.found {
			if f.Rule == ruledocs.DroppedField {
				got = append(got, f.Field)
			}
		}
		slices.Sort(got)
		want := lost(written, stored)
		slices.Sort(want)
		dropped += len(want)
		// usher also names fields that are set to what an encoder leaves out.
		got = slices.DeleteFunc(got, func(path string) bool { return !slices.Contains(want, path) && empty(position.Value(written, path)) })
		if !slices.Equal(want, got) {
			t.Errorf("%s: the server drops %v, usher says %v\n%s", o.from, want, got, o.raw)
		}
	}
	t.Logf("%d fields were dropped", dropped)
}
