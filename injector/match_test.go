package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/template"
)

func TestMatch(t *testing.T) {
	const made = ", ownerReferences: [{kind: %, controller: true}]"
	by := func(kind string) string { return strings.Replace(made, "%", kind, 1) }
	tests := map[string]struct {
		options   string
		metadata  string // of the pod, after its annotations
		notes     string
		kind      string
		namespace string
		labels    map[string]string // of the namespace
		want      reason.Reason
	}{
		"a namespace by its label":           {options: "{namespaceSelector: {matchLabels: {team: a}}}", labels: map[string]string{"team": "a"}, want: reason.Injected},
		"another namespace":                  {options: "{namespaceSelector: {matchLabels: {team: a}}}", labels: map[string]string{"team": "b"}, want: reason.NotAsked},
		"every namespace":                    {options: "{namespaceSelector: {}}", want: reason.Injected},
		"a namespace without the label":      {options: "{namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}", want: reason.Injected},
		"a pod by its label":                 {options: "{podSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}", metadata: ", labels: {app: web}", want: reason.Injected},
		"a pod without the label":            {options: "{podSelector: {matchLabels: {app: web}}}", want: reason.NotAsked},
		"both must hold":                     {options: "{namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {app: web}}}", metadata: ", labels: {app: web}", want: reason.NotAsked},
		"a pod of a StatefulSet":             {options: "{kinds: [StatefulSet]}", metadata: by("StatefulSet"), want: reason.Injected},
		"a pod of a DaemonSet is not":        {options: "{kinds: [StatefulSet]}", metadata: by("DaemonSet"), want: reason.NotAsked},
		"a pod of a Deployment":              {options: "{kinds: [Deployment]}", metadata: by("ReplicaSet") + ", labels: {pod-template-hash: x}", want: reason.Injected},
		"a pod of a ReplicaSet of its own":   {options: "{kinds: [Deployment]}", metadata: by("ReplicaSet"), want: reason.NotAsked},
		"of a ReplicaSet":                    {options: "{kinds: [ReplicaSet]}", metadata: by("ReplicaSet"), want: reason.Injected},
		"a pod without a controller":         {options: "{kinds: [Pod]}", metadata: ", ownerReferences: [{kind: Deployment}]", want: reason.Injected},
		"a controller's is not":              {options: "{kinds: [Pod]}", metadata: by("Job"), want: reason.NotAsked},
		"a workload":                         {options: "{kinds: [Deployment]}", kind: "Deployment", want: reason.Injected},
		"a CronJob's pods are Jobs'":         {options: "{kinds: [Job]}", kind: "CronJob", want: reason.Injected},
		"a workload by its template's label": {options: "{podSelector: {matchLabels: {app: web}}}", kind: "Deployment", metadata: ", labels: {app: web}", want: reason.Injected},
		"never kube-system":                  {options: "{namespaceSelector: {}}", namespace: "kube-system", want: reason.NamespaceExclude},
		"never usher's namespace":            {options: "{namespaceSelector: {}}", namespace: "usher-system", want: reason.NamespaceExclude},
		"an explicit false wins":             {options: "{namespaceSelector: {}}", notes: `"inject.usher.dev/side": "false"`, want: reason.OptedOut},
		"overrides reach it":                 {options: "{namespaceSelector: {}}", notes: `"inject.usher.dev/side.image": "x"`, want: reason.BadValue},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := "{metadata: {annotations: {" + tc.notes + "}" + tc.metadata + "}, spec: {containers: [{name: app}]}}"
			switch tc.kind {
			case "Deployment":
				object = "{spec: {template: " + object + "}}"
			case "CronJob":
				object = "{spec: {jobTemplate: {spec: {template: " + object + "}}}}"
			}
			templates := set(mustParse(t, "side", small, "match: "+tc.options))
			d := Decide(Request{Object: fromYAML(t, object), Kind: tc.kind, Namespace: tc.namespace, Scope: decision.Scope{ReleaseNamespace: "usher-system"}, NamespaceLabels: tc.labels, Templates: templates})
			if d.Reason != tc.want {
				t.Errorf("got %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if tc.want == reason.Injected && d.Outcomes[0].Source != "options.match of the template" {
				t.Errorf("asked by %q", d.Outcomes[0].Source)
			}
		})
	}
}

// The first matching source wins, and the reason names it.
func TestMatchComesLast(t *testing.T) {
	templates := set(mustParse(t, "side", small, "match: {namespaceSelector: {}}"))
	for source, r := range map[string]Request{
		"annotation inject.usher.dev/side":           {Object: fromYAML(t, asking(`"inject.usher.dev/side": "true"`, ""))},
		"namespace label inject.usher.dev/templates": {Object: fromYAML(t, asking("", "")), NamespaceLabels: map[string]string{wellknown.LabelTemplates: "side"}},
	} {
		r.Templates = templates
		if d := Decide(r); d.Reason != reason.Injected || len(d.Outcomes) != 1 || d.Outcomes[0].Source != source {
			t.Errorf("got %s by %+v, want it by %s", d.Reason, d.Outcomes, source)
		}
	}
}

// The selection of pods does not change the template's version.
func TestMatchDoesNotChangeTheVersion(t *testing.T) {
	if a, b := mustParse(t, "side", small, ""), mustParse(t, "side", small, "match: {kinds: [Job]}"); a.Version != b.Version {
		t.Errorf("the version is %s with a match, %s without", b.Version, a.Version)
	}
}

func TestMatchIsChecked(t *testing.T) {
	for options, want := range map[string]string{
		"{}":                                     "data.options.match (line 1): selects no pods; write namespaceSelector, podSelector or kinds, and namespaceSelector: {} for the pods of every namespace",
		"{kinds: [CronJob]}":                     "data.options.match.kinds[0] (line 1): is CronJob, whose pods belong to Jobs; write Job",
		"{kinds: [deployments]}":                 `data.options.match.kinds[0] (line 1): is "deployments"; write the kind of a pod's controller, such as Deployment, or Pod for pods without one`,
		"{podSelector: {matchLabels: {a b: c}}}": "data.options.match.podSelector (line 1): ",
		"{namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}": "data.options.match.namespaceSelector (line 1): ",
		"{labels: {}}": "data.options.match.labels (line 1): is not a field of this object; write kinds, namespaceSelector or podSelector",
	} {
		_, err := template.Parse("t", map[string]string{template.ConfigKey: small, template.OptionsKey: "match: " + options})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
}

func TestSidecarsOfAMatch(t *testing.T) {
	templates := set(mustParse(t, "side", small, "match: {podSelector: {matchLabels: {app: web}}}"))
	got := Sidecars(nil, Subject{Labels: map[string]string{"app": "web"}}, templates)
	want := []Sidecar{{Template: "side", State: Missing, Source: "options.match of the template", Serving: mustParse(t, "side", small, "").Version}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Sidecars(nil, Subject{}, templates); len(got) > 0 {
		t.Errorf("another pod has %+v", got)
	}
}

// A pod has the labels that templates add when it is validated, and when drift
// looks at it.
func TestMatch_LabelOfATemplate_SelectsAnother(t *testing.T) {
	adds := func(name, label, options string) *template.Template {
		return mustParse(t, name, "containers: [{name: "+name+", image: 'i:1'}]\nlabels: {"+label+"}", options)
	}
	const matching = "match: {podSelector: {matchLabels: {%}}}"
	match := func(label string) string { return strings.Replace(matching, "%", label, 1) }
	templates := set(
		adds("first", "one: set", ""),
		adds("second", "two: set", match("one: set")),
		adds("third", "three: set", match("two: set")+"\nmandatory: true"),
		adds("other", "four: set", match("five: set")),
	)
	tests := map[string]struct {
		notes string
		want  map[string]reason.Reason
	}{
		"one selects the next": {
			notes: `"inject.usher.dev/first": "true"`,
			want:  map[string]reason.Reason{"first": reason.Injected, "second": reason.Injected, "third": reason.Injected},
		},
		"a template that the pod refuses adds no label": {
			notes: `"inject.usher.dev/first": "true", "inject.usher.dev/second": "false"`,
			want:  map[string]reason.Reason{"first": reason.Injected, "second": reason.OptedOut},
		},
		"nothing is asked for": {notes: "", want: map[string]reason.Reason{"": reason.NotAsked}},
		"a mandatory template cannot be refused": {
			notes: `"inject.usher.dev/first": "true", "inject.usher.dev/third": "false"`,
			want:  map[string]reason.Reason{"first": reason.Injected, "second": reason.Injected, "third": reason.OptedOut},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(tc.notes, "")), Templates: templates}
			d := Decide(r)
			got := map[string]reason.Reason{}
			for _, o := range d.Outcomes {
				got[o.Template] = o.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if d.Denied {
				return
			}
			after, err := d.Patch.Apply(r.Object)
			if err != nil {
				t.Fatal(err)
			}
			r.Object = after
			if held := VerifyMandatory(r); held.Denied {
				t.Errorf("the injected pod is denied: %s", held.Message())
			}
		})
	}
}
