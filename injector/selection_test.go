package injector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// gives returns a template with a container of its name, one label if it is not
// "", and options.
func gives(t testing.TB, name, label, options string) *template.Template {
	t.Helper()
	config := "containers: [{name: " + name + ", image: 'i:1'}]"
	if label != "" {
		config += "\nlabels: {" + label + "}"
	}
	return mustParse(t, name, config, options)
}

// requires is options.match with requirements on the pod's labels.
func requires(requirements ...string) string {
	return "match: {podSelector: {matchExpressions: [{" + strings.Join(requirements, "}, {") + "}]}}"
}

const (
	everywhere = "match: {namespaceSelector: {}}"
	noTier     = "key: tier, operator: DoesNotExist"
)

func TestSelection(t *testing.T) {
	seed := gives(t, "a", `seed: "1"`, requires("key: app, operator: Exists"))
	first := gives(t, "r", `k: "1"`, requires("key: seed, operator: Exists", "key: k, operator: DoesNotExist"))
	second := gives(t, "q", `k: "2"`, requires(`key: k, operator: In, values: ["1"]`))
	third := gives(t, "p", `k: "1"`, requires(`key: k, operator: In, values: ["2"]`))
	guard, label := gives(t, "guard", "", requires(noTier)), gives(t, "label", "tier: x", "")
	tests := map[string]struct {
		templates []*template.Template
		labels    string // of the pod, after app: web
		notes     string
		namespace string // the templates of the namespace's label
		want      []string
	}{
		"a template that ends its own selector stays selected":     {templates: []*template.Template{seed, first}, want: []string{"a", "r"}},
		"the label of a template that a conflict keeps out counts": {templates: []*template.Template{seed, first, second}, want: []string{"a", "q", "r"}},
		"the value that was given first stays":                     {templates: []*template.Template{seed, first, second, third}, want: []string{"a", "q", "r"}},
		"a value that the pod has wins":                            {templates: []*template.Template{seed, first, second, third}, labels: ", k: mine", want: []string{"a"}},
		"of two values given at once the lesser one counts": {
			templates: []*template.Template{gives(t, "x1", "k: b", everywhere), gives(t, "x2", "k: a", everywhere), gives(t, "of-a", "", requires("key: k, operator: In, values: [a]")), gives(t, "of-b", "", requires("key: k, operator: In, values: [b]"))},
			want:      []string{"of-a", "x1", "x2"},
		},
		"an annotation's template is selected before every match": {templates: []*template.Template{guard, label}, notes: `"inject.usher.dev/label": "true"`, want: []string{"label"}},
		"and so is the namespace's":                               {templates: []*template.Template{guard, label}, namespace: "label", want: []string{"label"}},
		"without them the selector holds":                         {templates: []*template.Template{guard, label}, want: []string{"guard"}},
		"a refused template gives no label": {
			templates: []*template.Template{guard, gives(t, "label", "tier: x", everywhere), gives(t, "more", "", requires("key: tier, operator: Exists"))},
			notes:     `"inject.usher.dev/label": "false"`, want: []string{"guard"},
		},
		"all matches of a round see the same labels": {templates: []*template.Template{guard, gives(t, "label", "tier: x", everywhere)}, want: []string{"guard", "label"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, "{metadata: {labels: {app: web"+tc.labels+"}, annotations: {"+tc.notes+"}}, spec: {containers: [{name: app}]}}"), Templates: set(tc.templates...)}
			if tc.namespace != "" {
				r.NamespaceLabels = map[string]string{wellknown.LabelTemplates: tc.namespace}
			}
			d := Decide(r)
			got := slices.DeleteFunc(selected(d), func(name string) bool { return strings.Contains(tc.notes, name+`": "false"`) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("selected (-want +got):\n%s%s", diff, d.Message())
			}
		})
	}
}

// The labels of the revision that the pod gets count, and not those of the
// template itself.
func TestSelection_LabelsOfTheRevision(t *testing.T) {
	data := map[string]string{template.ConfigKey: "containers: [{name: label, image: 'i:2'}]\nlabels: {tier: z}"}
	revision, err := template.Parse("label/canary", data)
	if err != nil {
		t.Fatal(err)
	}
	x, y := gives(t, "of-x", "", requires("key: tier, operator: In, values: [x]")), gives(t, "of-z", "", requires("key: tier, operator: In, values: [z]"))
	entries := map[string]Entry{"label": {Template: gives(t, "label", "tier: x", everywhere)}, "label/canary": {Template: revision}, "of-x": {Template: x}, "of-z": {Template: y}}
	for notes, r := range map[string]Request{
		"": {NamespaceLabels: map[string]string{wellknown.LabelRevisions: "label.canary"}},
		`"inject.usher.dev/label.revision": canary`: {},
	} {
		r.Templates, r.Object = NewSet(entries), fromYAML(t, "{metadata: {annotations: {"+notes+"}}, spec: {containers: [{name: app}]}}")
		if diff := cmp.Diff([]string{"label", "of-z"}, selected(Decide(r))); diff != "" {
			t.Errorf("%s: selected (-want +got):\n%s", notes, diff)
		}
	}
}

// A guarded is a pod that the mandatory template guard selects unless it has the
// label tier, which the template label gives.
const guarded = "{metadata: {labels: {app: web%}}, spec: {containers: [{name: app, image: a}]}}"

func guardAndLabel(t *testing.T) (guard, label *template.Template) {
	t.Helper()
	return gives(t, "guard", "", "mandatory: true\n"+requires(noTier)), gives(t, "label", "tier: x", everywhere)
}

// A label that another template gave does not end a mandatory template's
// selector in the check after all mutations: not with the record, not without it.
func TestSelection_AfterMutation(t *testing.T) {
	guard, label := guardAndLabel(t)
	r := Request{Kind: "Pod", Namespace: "team", Templates: set(guard, label)}
	r.Object = fromYAML(t, strings.Replace(guarded, "%", "", 1))
	d := Decide(r)
	if got := selected(d); d.Denied || len(got) != 2 {
		t.Fatalf("injected %v (%s), want both", got, d.Message())
	}
	injected := apply(t, r, d)
	unrecorded := fromYAML(t, "{metadata: {labels: {app: web, tier: x}}, spec: {containers: [{name: app, image: a}, {name: label, image: 'i:1'}]}}")
	for name, object := range map[string][]byte{"with the record": withoutContainer(t, injected, "guard"), "without a record": unrecorded} {
		r.Object = object
		if h := VerifyMandatory(r); !h.Denied {
			t.Errorf("%s: the pod without its mandatory container is admitted: %s", name, h.Reason)
		}
		if d := Decide(r); d.Denied || len(d.Patch) == 0 {
			t.Errorf("%s: a reinvocation does not add the mandatory container: %s (%s)", name, d.Reason, d.Message())
		}
	}
}

// A pod whose author wrote the label that a template also sets keeps it as its
// own: what it does not select before injection it does not select after.
func TestSelection_LabelOfTheAuthor(t *testing.T) {
	guard, label := guardAndLabel(t)
	mine := gives(t, "mine", "mesh: enabled", requires("key: mesh, operator: In, values: [enabled]"))
	r := Request{Kind: "Pod", Namespace: "team", Templates: set(guard, label, mine)}
	r.Object = fromYAML(t, strings.Replace(guarded, "%", ", tier: x, mesh: enabled", 1))
	d := Decide(r)
	if diff := cmp.Diff([]string{"label", "mine"}, selected(d)); diff != "" || d.Denied {
		t.Fatalf("selected (-want +got):\n%s%s", diff, d.Message())
	}
	r.Object = apply(t, r, d)
	labels, notes := metadataOf(t, r.Object)
	if notes[wellknown.AnnotationOwnLabels] != "mesh,tier" {
		t.Errorf("%s is %q", wellknown.AnnotationOwnLabels, notes[wellknown.AnnotationOwnLabels])
	}
	again := Decide(r)
	if diff := cmp.Diff([]string{"label", "mine"}, selected(again)); diff != "" || len(again.Patch) > 0 {
		t.Errorf("selected in a reinvocation (-want +got):\n%s%s", diff, again.Patch.JSON())
	}
	if h := VerifyMandatory(r); h.Denied {
		t.Errorf("the check after all mutations denies: %s", h.Message())
	}
	for _, s := range Sidecars(notes, Subject{Labels: labels}, r.Templates) {
		if s.Source != matchSource {
			t.Errorf("drift does not see that %s selects the pod", s.Template)
		}
	}
	// Earlier versions did not write the annotation. A template that selects by a
	// label that it also sets still selects the pod.
	delete(notes, wellknown.AnnotationOwnLabels)
	at := slices.IndexFunc(Sidecars(notes, Subject{Labels: labels}, r.Templates), func(s Sidecar) bool { return s.Template == "mine" && s.Source == matchSource })
	if at < 0 {
		t.Error("drift does not see that mine selects a pod of an earlier version")
	}
}

// Templates without a match on their labels need no annotation.
func TestSelection_LabelThatNoMatchReads_IsNotNoted(t *testing.T) {
	r := Request{Templates: set(gives(t, "label", "tier: x", everywhere))}
	r.Object = fromYAML(t, strings.Replace(guarded, "%", ", tier: x", 1))
	if _, notes := metadataOf(t, apply(t, r, Decide(r))); notes[wellknown.AnnotationOwnLabels] != "" {
		t.Errorf("%s is %q", wellknown.AnnotationOwnLabels, notes[wellknown.AnnotationOwnLabels])
	}
}

// What a recorded template gave is known from the version that the record names.
func TestOwnLabels(t *testing.T) {
	guard, was := guardAndLabel(t)
	is := gives(t, "label", "tier: z", everywhere)
	other := gives(t, "label", "zone: z", everywhere)
	revision, err := template.Parse("label/old", map[string]string{template.ConfigKey: "containers: [{name: label, image: 'i:1'}]\nlabels: {tier: x}"})
	if err != nil {
		t.Fatal(err)
	}
	with := func(e Entry) *Set { return NewSet(map[string]Entry{"guard": {Template: guard}, "label": e}) }
	record := func(t *template.Template) string {
		return Record{"label": {Content: t.Content, Options: t.OptionsDigest, Containers: []string{"label"}}}.String()
	}
	tests := map[string]struct {
		set   *Set
		notes map[string]string
		tier  string
		own   bool
	}{
		"the current version":             {set: with(Entry{Template: was}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x"},
		"with a value that it never set":  {set: with(Entry{Template: was}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "z", own: true},
		"the version replaced just now":   {set: with(Entry{Template: is, Replaced: []Replaced{{was, time.Now()}}}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x"},
		"replaced by one without a label": {set: with(Entry{Template: guard, Replaced: []Replaced{{was, time.Now()}}}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x"},
		"a revision":                      {set: NewSet(map[string]Entry{"guard": {Template: guard}, "label": {Template: is}, "label/old": {Template: revision}}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x"},
		"the value of another revision":   {set: NewSet(map[string]Entry{"guard": {Template: guard}, "label": {Template: is}, "label/old": {Template: revision}}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "z", own: true},
		"an unknown version, same key":    {set: with(Entry{Template: is}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x"},
		"an unknown version, another key": {set: with(Entry{Template: other}), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x", own: true},
		"a deleted template":              {set: set(guard), notes: map[string]string{wellknown.AnnotationInjected: record(was)}, tier: "x", own: true},
		"no record":                       {set: with(Entry{Template: was}), tier: "x", own: true},
		"an unreadable record":            {set: with(Entry{Template: was}), notes: map[string]string{wellknown.AnnotationInjected: "{"}, tier: "x", own: true},
		"a label of the author":           {set: with(Entry{Template: was}), notes: map[string]string{wellknown.AnnotationInjected: record(was), wellknown.AnnotationOwnLabels: "app,tier"}, tier: "x", own: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"app": "web", "tier": tc.tier}
			own := tc.set.OwnLabels(labels, tc.notes)
			if _, got := own["tier"]; got != tc.own || own["app"] != "web" || len(labels) != 2 {
				t.Errorf("own %v, want tier %v", own, tc.own)
			}
		})
	}
}

// A record that usher did not write takes no label away from a mandatory
// template's selector.
func TestSelection_ForgedRecord_EscapesNoMandatoryTemplate(t *testing.T) {
	label := gives(t, "label", "tier: x", "")
	guard := gives(t, "guard", "", "mandatory: true\n"+requires("key: tier, operator: Exists"))
	forged := Record{"label": {Content: label.Content, Options: label.OptionsDigest, Containers: []string{"app"}}}.String()
	r := Request{Kind: "Pod", Namespace: "team", Templates: set(guard, label)}
	r.Object = relabelled(t, fromYAML(t, strings.Replace(guarded, "%", "", 1)), "tier", "x")
	r.Object = annotated(t, r.Object, wellknown.AnnotationInjected, forged)
	d := Decide(r)
	if diff := cmp.Diff([]string{"guard"}, selected(d)); diff != "" {
		t.Errorf("selected (-want +got):\n%s%s", diff, d.Message())
	}
	if h := VerifyMandatory(r); !h.Denied {
		t.Errorf("the check admits the pod without it: %s", h.Reason)
	}
}

// A mandatory template that the record names is checked, and added if it is
// missing, whatever selected it.
func TestSelection_RecordNamesMandatoryTemplate(t *testing.T) {
	guard := gives(t, "guard", "", "mandatory: true\nmatch: {namespaceSelector: {matchLabels: {team: a}}}")
	r := Request{Kind: "Pod", Namespace: "team", Templates: set(guard), NamespaceLabels: map[string]string{"team": "a"}}
	r.Object = fromYAML(t, strings.Replace(guarded, "%", "", 1))
	injected := apply(t, r, Decide(r))
	r.NamespaceLabels = nil
	r.Object = injected
	if h := VerifyMandatory(r); h.Denied || h.Reason != reason.AlreadyInjected {
		t.Errorf("the pod as injected: %s (%s)", h.Reason, h.Message())
	}
	r.Object = withoutContainer(t, injected, "guard")
	if h := VerifyMandatory(r); !h.Denied {
		t.Errorf("the pod without the container is admitted: %s", h.Reason)
	}
	d := Decide(r)
	if d.Reason != reason.Injected || d.Outcomes[0].Source != "annotation usher.dev/injected" {
		t.Errorf("injection says %s by %s (%s)", d.Reason, d.Outcomes[0].Source, d.Message())
	}
	_, notes := metadataOf(t, injected)
	if s := Sidecars(notes, Subject{}, r.Templates); s[0].Source != "" {
		t.Errorf("drift expects it of a new pod, by %s", s[0].Source)
	}
}

// A label that a withheld template would give counts, and a mandatory template
// that it keeps out is selected all the same if the pod then lacks the label: a
// replica of an earlier version would deny the pod.
func TestSelection_WithheldTemplate_DoesNotEndAMandatorySelector(t *testing.T) {
	seed := gives(t, "seed", "seed: set", everywhere+"\nhostNetwork: allow")
	withheld := gives(t, "withheld", "tier: x", everywhere)
	guard := gives(t, "guard", "", "mandatory: true\nhostNetwork: allow\n"+requires("key: seed, operator: Exists", noTier))
	r := Request{Kind: "Pod", Namespace: "team", Templates: set(seed, withheld, guard)}
	r.Object = fromYAML(t, "{metadata: {labels: {app: web}}, spec: {hostNetwork: true, containers: [{name: app, image: a}]}}")
	d := Decide(r)
	if diff := cmp.Diff([]string{"guard", "seed", "withheld"}, selected(d)); diff != "" || d.Denied {
		t.Fatalf("selected (-want +got):\n%s%s", diff, d.Message())
	}
	if d := Decide(Request{Kind: "Pod", Templates: r.Templates, Object: fromYAML(t, strings.Replace(guarded, "%", "", 1))}); slices.Contains(selected(d), "guard") {
		t.Error("the label of a template that the pod gets does not count")
	}
	r.Object = apply(t, r, d)
	if h := VerifyMandatory(r); h.Denied {
		t.Errorf("the check denies: %s", h.Message())
	}
}

func annotated(t *testing.T, object []byte, key, value string) []byte {
	t.Helper()
	patch := podjson.AppendMap(nil, "/metadata/annotations", nil, []podjson.Pair{{Key: key, Value: value}})
	after, err := patch.Apply(object)
	if err != nil {
		t.Fatal(err)
	}
	return after
}
