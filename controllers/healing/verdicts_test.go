package healing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/injector"
)

// TestVerdictsAreKeptUntilSomethingChanges counts the pods that are judged at each
// look.
func TestVerdictsAreKeptUntilSomethingChanges(t *testing.T) {
	object := func(name string, labels, annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, Annotations: annotations}}
	}
	on := map[string]string{"a": "b"}
	plain, other := object("plain", nil, nil), object("other", nil, nil)
	namespace := object("team", nil, nil)
	first, second := injector.NewSet(nil), injector.NewSet(nil)
	start := time.Unix(0, 0)
	broken := errors.New("the API server is down")
	var k verdicts
	for _, step := range []struct {
		what   string
		set    *injector.Set
		pods   []lacking
		now    time.Time
		failed bool
		judged string
		known  string
	}{
		{what: "new pods", set: first, pods: []lacking{{pod: plain, namespace: namespace}, {pod: other, namespace: namespace}}, now: start, judged: "plain other", known: "other plain"},
		{what: "nothing changed", set: first, pods: []lacking{{pod: plain, namespace: namespace}, {pod: other, namespace: namespace}}, now: start.Add(time.Minute), known: "other plain"},
		{what: "a copy of the same metadata", set: first, pods: []lacking{{pod: object("plain", nil, nil), namespace: object("team", nil, nil)}}, now: start.Add(time.Minute), known: "plain"},
		{what: "a pod that was forgotten", set: first, pods: []lacking{{pod: plain, namespace: namespace}, {pod: other, namespace: namespace}}, now: start.Add(time.Minute), judged: "other", known: "other plain"},
		{what: "other labels of the pod", set: first, pods: []lacking{{pod: object("plain", on, nil), namespace: namespace}}, now: start, judged: "plain", known: "plain"},
		{what: "other annotations of the pod", set: first, pods: []lacking{{pod: object("plain", on, on), namespace: namespace}}, now: start, judged: "plain", known: "plain"},
		{what: "other labels of the namespace", set: first, pods: []lacking{{pod: object("plain", on, on), namespace: object("team", on, nil)}}, now: start, judged: "plain", known: "plain"},
		{what: "time passed", set: first, pods: []lacking{{pod: object("plain", on, on), namespace: object("team", on, nil)}}, now: start.Add(recheck), judged: "plain", known: "plain"},
		{what: "an error keeps the earlier verdict", set: first, pods: []lacking{{pod: object("plain", nil, nil), namespace: namespace}, {pod: other, namespace: namespace}}, now: start.Add(recheck), failed: true, judged: "plain", known: "plain"},
		{what: "and the pod is judged again", set: first, pods: []lacking{{pod: object("plain", nil, nil), namespace: namespace}}, now: start.Add(recheck), judged: "plain", known: "plain"},
		{what: "other templates", set: second, pods: []lacking{{pod: object("plain", nil, nil), namespace: namespace}}, now: start.Add(recheck), judged: "plain", known: "plain"},
	} {
		var judged []string
		known, err := k.look(t.Context(), step.set, step.pods, step.now, func(_ context.Context, pod *metav1.PartialObjectMetadata) ([]drift.Finding, error) {
			judged = append(judged, pod.Name)
			if step.failed {
				return nil, broken
			}
			return nil, nil
		})
		if step.failed != errors.Is(err, broken) {
			t.Errorf("%s: %v", step.what, err)
		}
		var names []string
		for uid := range maps.Keys(known) {
			names = append(names, string(uid))
		}
		slices.Sort(names)
		if got := strings.Join(judged, " "); got != step.judged {
			t.Errorf("%s: %q are judged, want %q", step.what, got, step.judged)
		}
		if got := strings.Join(names, " "); got != step.known || len(k.pods) != len(names) {
			t.Errorf("%s: %q have a verdict, and %d are kept, want %q", step.what, got, len(k.pods), step.known)
		}
	}
}
