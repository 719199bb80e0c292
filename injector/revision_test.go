package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// revised returns a set with a template and two revisions of it.
func revised(t *testing.T) *Set {
	t.Helper()
	entries := map[string]Entry{}
	for name, image := range map[string]string{"side": "s:1", "side/next": "s:2", "side/old": "s:0"} {
		tpl, err := template.Parse(name, map[string]string{template.ConfigKey: "containers: [{name: side, image: '" + image + "'}]"})
		if err != nil {
			t.Fatal(err)
		}
		entries[name] = Entry{Template: tpl}
	}
	return NewSet(entries)
}

func TestRevision(t *testing.T) {
	const asks = `"inject.usher.dev/side": "true"`
	tests := map[string]struct {
		notes   string
		labels  map[string]string
		image   string // of the sidecar
		want    reason.Reason
		message string
	}{
		"none is picked":                     {notes: asks, image: "s:1"},
		"the pod picks":                      {notes: asks + `, "inject.usher.dev/side.revision": next`, image: "s:2"},
		"the namespace picks":                {notes: asks, labels: map[string]string{wellknown.LabelRevisions: "side.next"}, image: "s:2"},
		"the namespace asks and picks":       {labels: map[string]string{wellknown.LabelTemplates: "side", wellknown.LabelRevisions: "other.x_side.next"}, image: "s:2"},
		"the pod picks before":               {notes: asks + `, "inject.usher.dev/side.revision": old`, labels: map[string]string{wellknown.LabelRevisions: "side.next"}, image: "s:0"},
		"the pod picks the template":         {notes: asks + `, "inject.usher.dev/side.revision": default`, labels: map[string]string{wellknown.LabelRevisions: "side.next"}, image: "s:1"},
		"another template's does not matter": {notes: asks, labels: map[string]string{wellknown.LabelRevisions: "other.next"}, image: "s:1"},
		"what refuses picks nothing":         {notes: `"inject.usher.dev/side": "false"`, labels: map[string]string{wellknown.LabelRevisions: "side.none"}, want: reason.OptedOut},
		"a revision that is not there": {notes: asks + `, "inject.usher.dev/side.revision": nxt`, want: reason.TemplateMissing,
			message: `metadata.annotations[inject.usher.dev/side.revision]: annotation inject.usher.dev/side.revision selects the revision "nxt" of the template "side", which does not exist; it has next, old`},
		"a namespace's that is not there": {notes: asks, labels: map[string]string{wellknown.LabelRevisions: "side.nxt"}, want: reason.TemplateMissing,
			message: `namespace label inject.usher.dev/revision selects the revision "nxt" of the template "side"`},
		"a label without a revision": {notes: asks, labels: map[string]string{wellknown.LabelRevisions: "next"}, want: reason.BadValue,
			message: `the namespace's label inject.usher.dev/revision has "next"; write <template>.<revision>`},
		"a label that picks twice": {notes: asks, labels: map[string]string{wellknown.LabelRevisions: "side.next_side.old"}, want: reason.BadValue, message: "selects two revisions"},
		"a name that none can have": {notes: asks + `, "inject.usher.dev/side.revision": A.B`, want: reason.BadValue,
			message: `metadata.annotations[inject.usher.dev/side.revision]: is "A.B"; write the name of a revision`},
		"a revision by the old prefix": {notes: asks + `, "initializer.kubernetes.io/side.revision": next`, want: reason.BadValue},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.want == "" {
				tc.want = reason.Injected
			}
			r := Request{Object: fromYAML(t, asking(tc.notes, "")), NamespaceLabels: tc.labels, Templates: revised(t)}
			d := Decide(r)
			if d.Reason != tc.want || !strings.Contains(d.Message(), tc.message) {
				t.Fatalf("got %s: %s\nwant %s: %s", d.Reason, d.Message(), tc.want, tc.message)
			}
			if tc.image != "" && !strings.Contains(string(apply(t, r, d)), `"image":"`+tc.image+`"`) {
				t.Errorf("got %s, want the image %s", d.Patch.JSON(), tc.image)
			}
		})
	}
}

// A pod's sidecar is compared with the revision that the pod, or its namespace,
// selects.
func TestSidecarsOfARevision(t *testing.T) {
	set := revised(t)
	next, _ := set.Get("side/next")
	annotations := map[string]string{"inject.usher.dev/side": "true", wellknown.AnnotationInjected: Record{"side": {Content: next.Template.Content, Options: next.Template.OptionsDigest}}.String()}
	states := func(labels map[string]string) (SidecarState, string) {
		got := Sidecars(annotations, Subject{NamespaceLabels: labels}, set)
		return got[0].State, got[0].Revision
	}
	if state, revision := states(map[string]string{wellknown.LabelRevisions: "side.next"}); state != Current || revision != "next" {
		t.Errorf("in a namespace that picks it, it is %s of %q", state, revision)
	}
	if state, revision := states(nil); state != Outdated || revision != "" {
		t.Errorf("elsewhere it is %s of %q", state, revision)
	}
}

func TestRevisionsAreNotTemplates(t *testing.T) {
	set := revised(t)
	if diff := cmp.Diff([]string{"side"}, set.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"next", "old"}, set.Revisions("side")); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	if conflicts := set.Conflicts(); len(conflicts) > 0 {
		t.Errorf("a template conflicts with its revision: %v", conflicts)
	}
	if name := template.NameOf("envoy-next", map[string]string{wellknown.LabelRevisionOf: "envoy", wellknown.LabelRevision: "next"}); name != "envoy/next" {
		t.Errorf("the name is %q", name)
	}
	for name, want := range map[string]string{
		"side/default": "is the name of the template itself", "side/": "must be lower case letters", "side/a.b": "must be lower case letters", "/next": "the template's name",
	} {
		if _, err := template.Parse(name, map[string]string{template.ConfigKey: small}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	_, err := template.Parse("side/next", map[string]string{template.ConfigKey: small, template.OptionsKey: "match: {kinds: [Job]}"})
	if err == nil || !strings.Contains(err.Error(), "data.options.match (line 1): is in a revision") {
		t.Errorf("a match in a revision: %v", err)
	}
}

func TestRevision_OfMandatoryTemplate_IsMandatory(t *testing.T) {
	entries := map[string]Entry{}
	for name, options := range map[string]string{"side": "{mandatory: true}", "side/next": "{}", "free": "{}", "free/next": "{}"} {
		tpl, err := template.Parse(name, map[string]string{
			template.ConfigKey: "containers: [{name: " + strings.TrimSuffix(name, "/next") + ", image: 's:1'}]", template.OptionsKey: options,
		})
		if err != nil {
			t.Fatal(err)
		}
		entries[name] = Entry{Template: tpl}
	}
	written := entries["side/next"].Template
	got := map[string]bool{}
	set := NewSet(entries)
	for name := range entries {
		entry, _ := set.Get(name)
		got[name] = entry.Template.Options.Mandatory
	}
	if diff := cmp.Diff(map[string]bool{"side": true, "side/next": true, "free": false, "free/next": false}, got); diff != "" {
		t.Errorf("mandatory (-want +got):\n%s", diff)
	}
	if written.Options.Mandatory {
		t.Error("the template that was handed over changed")
	}
	d := Decide(Request{
		Object:    fromYAML(t, asking(`"inject.usher.dev/side": "true", "inject.usher.dev/side.revision": next`, "containers: [{name: app, image: app}, {name: side, image: 'other:1', command: [sleep]}]")),
		Templates: set,
	})
	if len(d.Problems) == 0 {
		t.Errorf("a pod with another container of that name is admitted: %v", d.Outcomes)
	}
}
