package cluster

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/template"
)

func labelled(version, value string) *metav1.PartialObjectMetadata {
	ns := partialNamespace()
	ns.Name, ns.ResourceVersion, ns.Labels = "a", version, map[string]string{wellknown.LabelTemplates: value}
	return ns
}

// answering is an API server whose response is overtaken by the effects of
// during.
type answering struct {
	client.Reader
	answer *metav1.PartialObjectMetadata // nil if the namespace does not exist
	during func()
}

func (a *answering) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if a.during != nil {
		a.during()
	}
	if a.answer == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	}
	a.answer.DeepCopyInto(into.(*metav1.PartialObjectMetadata))
	return nil
}

func TestNamespaces_AnOvertakenAnswerIsNotKept(t *testing.T) {
	tests := map[string]struct {
		before *metav1.PartialObjectMetadata
		during func(*Namespaces)
		answer *metav1.PartialObjectMetadata
		want   string // the resulting labels, "" for none
	}{
		"by a change": {
			during: func(n *Namespaces) { n.Put(labelled("100", "new")) },
			answer: labelled("99", "old"), want: "new",
		},
		"by the deletion": {
			before: labelled("98", "old"),
			during: func(n *Namespaces) { n.Delete("a", "100") },
			answer: labelled("99", "old"),
		},
		"by the deletion of a namespace that was not known": {
			during: func(n *Namespaces) { n.Delete("a", "100") },
			answer: labelled("99", "old"),
		},
		"by nothing": {
			before: labelled("98", "old"),
			answer: labelled("99", "new"), want: "new",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server := &answering{answer: tc.answer}
			n := NewNamespaces(server)
			if tc.before != nil {
				n.Put(tc.before)
			}
			if tc.during != nil {
				server.during = func() { tc.during(n) }
			}
			if _, _, err := n.Refresh(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			server.during, server.answer = nil, nil
			labels, _, err := n.Metadata(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if got := labels[wellknown.LabelTemplates]; got != tc.want {
				t.Errorf("the namespace asks for %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNamespaces_KeepsShortAnnotations(t *testing.T) {
	ns := labelled("1", "")
	ns.Annotations = map[string]string{
		"example.com/zone": "b", corev1.LastAppliedConfigAnnotation: "{}", "example.com/long": strings.Repeat("x", template.MaxValue+1),
	}
	n := NewNamespaces(&answering{})
	kept, err := Trim(ns)
	if err != nil {
		t.Fatal(err)
	}
	n.Put(kept.(*metav1.PartialObjectMetadata))
	_, annotations, err := n.Metadata(t.Context(), "a")
	if diff := cmp.Diff(map[string]string{"example.com/zone": "b"}, annotations); diff != "" || err != nil {
		t.Errorf("%v, annotations (-want +got):\n%s", err, diff)
	}
}

func TestNamespaces_ADeletionSparesWhatWasCreatedSince(t *testing.T) {
	n := NewNamespaces(&answering{})
	var changes int
	n.Changed = func() { changes++ }
	n.Put(labelled("110", "new"))
	n.Delete("a", "100")
	if diff := cmp.Diff([]string{"new"}, n.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	n.Delete("a", "") // missed: the version is not known
	if got := n.Values(); len(got) > 0 {
		t.Errorf("%q is known of a namespace that was deleted", got)
	}
	if changes != 2 {
		t.Errorf("%d changes were told, want 2", changes)
	}
}
