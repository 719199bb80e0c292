package position_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/yaml/position"
)

func TestValue_IsWhatAPathLeadsTo(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a.b/c": "d"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"image": "web"}}, "matrix": []any{[]any{1, 2}}},
	}
	for path, want := range map[string]any{
		"spec.containers[0].image":     "web",
		"spec.matrix[0][1]":            2,
		"metadata.labels[a.b/c]":       "d",
		"spec.containers[1].image":     nil,
		"spec.containers[-1]":          nil,
		"spec.containers.image":        nil,
		"spec.containers[0].image.tag": nil,
		"status":                       nil,
		"spec.containers[0":            object["spec"].(map[string]any)["containers"].([]any)[0],
	} {
		if diff := cmp.Diff(want, position.Value(object, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestSteps_SayWhichAreInBrackets(t *testing.T) {
	type step struct {
		Name      string
		Bracketed bool
	}
	var got []step
	for name, bracketed := range position.Steps("metadata.labels[a.b/c].x[0][1]") {
		got = append(got, step{name, bracketed})
	}
	want := []step{{"metadata", false}, {"labels", false}, {"a.b/c", true}, {"x", false}, {"0", true}, {"1", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
