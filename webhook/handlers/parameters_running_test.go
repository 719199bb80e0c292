package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// TestRunningPodsOfAMandatoryTemplateKeepTheirValues edits each annotation of a
// running pod that usher or its template reads or writes. Values are fixed, so an edit of a
// source is harmless, and one of what the template added is denied.
func TestRunningPodsOfAMandatoryTemplateKeepTheirValues(t *testing.T) {
	c := webhooktest.Started(t)
	parameterizedTemplates(t, c)
	ns := c.NewNamespace(t, nil)
	zone(t, c, ns, "a")
	pods := c.CoreV1().Pods(ns)
	record := func(old, now string) func(string) *string {
		return func(was string) *string { return new(strings.Replace(was, old, now, 1)) }
	}
	to := func(value string) func(string) *string { return func(string) *string { return &value } }
	removed := func(string) *string { return nil }
	tests := map[string]struct {
		key  string
		edit func(was string) *string
		// denied is the reason; "" if the edit is admitted.
		denied string
	}{
		"the source has another value":         {"example.com/level", to("trace"), ""},
		"the source has a bad value":           {"example.com/level", to("DEBUG!"), ""},
		"the source is removed":                {"example.com/level", removed, ""},
		"the source is that of the namespace":  {"example.com/zone", to("b"), ""},
		"the request is removed":               {"inject.usher.dev/hard", removed, ""},
		"the request is refused":               {"inject.usher.dev/hard", to("false"), ""},
		"the request has a bad value":          {"inject.usher.dev/hard", to("maybe"), ""},
		"another request":                      {"inject.usher.dev/soft", to("true"), ""},
		"the request by the other name":        {"initializer.kubernetes.io/hard", to("false"), ""},
		"an override":                          {"inject.usher.dev/hard.image", to("evil:1"), ""},
		"another revision":                     {"inject.usher.dev/hard.revision", to("next"), ""},
		"names of containers":                  {"inject.usher.dev/hard.containers", to("app"), ""},
		"labels of the pod's own":              {"usher.dev/own-labels", to("hard.example.com/level"), ""},
		"the copied request":                   {"usher.dev/carried", to("inject.usher.dev/hard"), ""},
		"the template's annotation":            {"hard.example.com/zone", to("b"), "mandatory-changed"},
		"the template's annotation is removed": {"hard.example.com/zone", removed, "mandatory-changed"},
		"the template's label":                 {"label hard.example.com/level", to("trace"), "mandatory-changed"},
		"the template's label is removed":      {"label hard.example.com/level", removed, "mandatory-changed"},
		"the record is removed":                {wellknown.AnnotationInjected, removed, "record-mismatch"},
		"the record is empty":                  {wellknown.AnnotationInjected, to("{}"), "record-mismatch"},
		"the record is not JSON":               {wellknown.AnnotationInjected, to("{"), "record-mismatch"},
		"the record's value of the source":     {wellknown.AnnotationInjected, record(`"level":"debug"`, `"level":"trace"`), "record-mismatch"},
		"the record's value of the namespace":  {wellknown.AnnotationInjected, record(`"zone":"a"`, `"zone":"b"`), "record-mismatch"},
		"the record's value of a fact":         {wellknown.AnnotationInjected, record(`"ports":"8080"`, `"ports":"1"`), "record-mismatch"},
		"the record's version":                 {wellknown.AnnotationInjected, record(`"version":"sha256:`, `"version":"sha256:0`), "record-mismatch"},
		"the record's container":               {wellknown.AnnotationInjected, record(`"containers":["hard"]`, `"containers":["app"]`), "record-mismatch"},
		"the record has another template":      {wellknown.AnnotationInjected, record(`{"hard":`, `{"soft":{"version":"sha256:0","containers":["app"]},"hard":`), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := webhooktest.Pod(t, `"inject.usher.dev/hard": "true", "example.com/level": debug`, withPorts)
			before, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			was := before.Annotations[tc.key]
			edited := tc.edit(was)
			if edited != nil && *edited == was {
				t.Fatalf("the edit changes nothing of %s", was)
			}
			metadata := map[string]any{"annotations": map[string]any{tc.key: edited}}
			if label, is := strings.CutPrefix(tc.key, "label "); is {
				metadata = map[string]any{"labels": map[string]any{label: edited}}
			}
			body, err := json.Marshal(map[string]any{"metadata": metadata})
			if err != nil {
				t.Fatal(err)
			}
			after, err := pods.Patch(t.Context(), before.Name, types.MergePatchType, body, metav1.PatchOptions{})
			switch {
			case tc.denied != "":
				if err == nil || !strings.Contains(err.Error(), tc.denied+": ") {
					t.Errorf("%v, want a denial for %s", err, tc.denied)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			want := before.DeepCopy()
			want.ResourceVersion, want.ManagedFields = after.ResourceVersion, after.ManagedFields
			if edited == nil {
				delete(want.Annotations, tc.key)
			} else {
				want.Annotations[tc.key] = *edited
			}
			if diff := cmp.Diff(want, after); diff != "" {
				t.Errorf("the pod (-want +got):\n%s", diff)
			}
			// The template is as well protected as before.
			evil := `{"spec":{"containers":[{"name":"hard","image":"evil:1"}]}}`
			if _, err := pods.Patch(t.Context(), before.Name, types.StrategicMergePatchType, []byte(evil), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), "mandatory-changed: ") {
				t.Errorf("afterwards the image is changed: %v", err)
			}
		})
	}
	t.Run("the annotation of the namespace", func(t *testing.T) {
		pod, err := pods.Create(t.Context(), webhooktest.Pod(t, `"inject.usher.dev/hard": "true"`, withPorts), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zone(t, c, ns, "b")
		after, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"mine":"x"}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(t, pod, "hard"), values(t, after, "hard")); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
}
