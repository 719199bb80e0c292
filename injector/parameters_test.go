package injector

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// valueOf is a template that shows the value of one parameter in an argument.
func valueOf(t testing.TB, declaration, otherOptions string) *template.Template {
	t.Helper()
	return mustParse(t, "side", `containers: [{name: side, image: "side:1", args: ["${param.p}"]}]`, "parameters: [{name: p, "+declaration+"}]\n"+otherOptions)
}

// sidecar returns the container side of a pod, or of the pod template of a workload.
func sidecar(t testing.TB, kind string, object []byte) corev1.Container {
	t.Helper()
	raw, _, problem := podjson.Template(kind, object)
	if problem != nil {
		t.Fatal(problem)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(raw, &pod); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			if c.Name == "side" {
				return c
			}
		}
	}
	t.Fatalf("the pod has no sidecar: %s", raw)
	return corev1.Container{}
}

func TestParameters_TakeTheValueOfTheFirstSource(t *testing.T) {
	const sources = `from: [{annotation: example.com/p}, {label: p}, {namespaceAnnotation: example.com/p}, {fact: ownerName}], maxLength: 20, default: the default`
	for name, tc := range map[string]struct {
		metadata  string
		namespace map[string]string
		want      string
	}{
		"annotation":           {`name: pod, labels: {p: label}, annotations: {inject.usher.dev/side: "true", example.com/p: annotation}`, map[string]string{"example.com/p": "namespace"}, "annotation"},
		"an empty annotation":  {`name: pod, labels: {p: label}, annotations: {inject.usher.dev/side: "true", example.com/p: ""}`, nil, ""},
		"label":                {`name: pod, labels: {p: label}, annotations: {inject.usher.dev/side: "true"}`, map[string]string{"example.com/p": "namespace"}, "label"},
		"namespace annotation": {`name: pod, annotations: {inject.usher.dev/side: "true"}`, map[string]string{"example.com/p": "namespace"}, "namespace"},
		"fact":                 {`name: pod, annotations: {inject.usher.dev/side: "true"}`, nil, "pod"},
		"default":              {`annotations: {inject.usher.dev/side: "true"}`, nil, "the default"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Object:    fromYAML(t, "metadata: {"+tc.metadata+"}\nspec: {containers: [{name: app}]}"),
				Templates: set(valueOf(t, sources, "")), NamespaceAnnotations: tc.namespace,
			}
			d := Decide(r)
			if d.Reason != reason.Injected {
				t.Fatalf("%s: %s", d.Reason, d.Message())
			}
			if got := sidecar(t, "", apply(t, r, d)).Args[0]; got != tc.want {
				t.Errorf("the value is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParameters_Facts(t *testing.T) {
	const (
		annotated = `annotations: {inject.usher.dev/side: "true"}`
		podSpec   = `{initContainers: [{name: setup}], containers: [{name: app, ports: [{containerPort: 8080}, {containerPort: 53, protocol: UDP}, {containerPort: 9090}], livenessProbe: {tcpSocket: {port: 9090}}}, {name: web, ports: [{containerPort: 8080}]}]}`
		pod       = `{metadata: {` + annotated + `}, spec: ` + podSpec + `}`
	)
	owned := func(kind, name, labels string) string {
		return fmt.Sprintf(`{metadata: {name: p, %s, labels: {%s}, ownerReferences: [{controller: false, kind: Other, name: other}, {controller: true, kind: %s, name: %q}]}, spec: %s}`, annotated, labels, kind, name, podSpec)
	}
	for _, tc := range []struct{ name, kind, object, fact, want string }{
		{"ports", "Pod", pod, "containerPorts", "8080,9090"},
		{"names", "Pod", pod, "containerNames", "app,web"},
		{"the first name", "Pod", pod, "firstContainer", "app"},
		{"probes", "Pod", pod, "probePorts", "9090"},
		{"a pod that belongs to nothing", "Pod", `{metadata: {name: p, ` + annotated + `}, spec: ` + podSpec + `}`, "ownerKind", "Pod"},
		{"a pod with a generated name", "Pod", `{metadata: {generateName: p-, ` + annotated + `}, spec: ` + podSpec + `}`, "ownerName", "p"},
		{"a Deployment's pod", "Pod", owned("ReplicaSet", "web-5d4f", "pod-template-hash: 5d4f"), "ownerKind", "Deployment"},
		{"a Deployment's pod, by name", "Pod", owned("ReplicaSet", "web-5d4f", "pod-template-hash: 5d4f"), "ownerName", "web"},
		{"a ReplicaSet's pod", "Pod", owned("ReplicaSet", "web-5d4f", ""), "ownerName", "web-5d4f"},
		{"a CronJob's pod", "Pod", owned("Job", "report-28903950", ""), "ownerKind", "CronJob"},
		{"a CronJob's pod, by name", "Pod", owned("Job", "report-28903950", ""), "ownerName", "report"},
		{"a Job's pod", "Pod", owned("Job", "report-1", ""), "ownerName", "report-1"},
		{"a name that is none", "Pod", owned("StatefulSet", "a b", ""), "ownerName", "none"},
		{"a Deployment", "Deployment", `{kind: Deployment, metadata: {name: web}, spec: {template: ` + pod + `}}`, "ownerName", "web"},
		{"a CronJob", "CronJob", `{kind: CronJob, metadata: {name: report}, spec: {jobTemplate: {spec: {template: ` + pod + `}}}}`, "ownerKind", "CronJob"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, tc.object), Kind: tc.kind, Templates: set(valueOf(t, "default: none, from: [{fact: "+tc.fact+"}]", ""))}
			d := Decide(r)
			if d.Reason != reason.Injected {
				t.Fatalf("%s: %s", d.Reason, d.Message())
			}
			if got := sidecar(t, tc.kind, apply(t, r, d)).Args[0]; got != tc.want {
				t.Errorf("%s is %q, want %q", tc.fact, got, tc.want)
			}
		})
	}
}

func TestParameters_ABadValue(t *testing.T) {
	const notes = `example.com/p: "abc"`
	for name, tc := range map[string]struct {
		declaration, options, annotations string
		namespace                         map[string]string
		reason                            reason.Reason
		message                           string
	}{
		"of an annotation": {
			"type: int, min: 1, max: 9, from: [{annotation: example.com/p}], default: 1", "", asks + ", " + notes, nil, reason.BadValue,
			`metadata.annotations[example.com/p]: is "abc"; write a whole number from 1 to 9 (the parameter p of the template side)`,
		},
		"of the namespace": {
			"type: int, from: [{namespaceAnnotation: example.com/p}], default: 1", "", asks, map[string]string{"example.com/p": "abc"}, reason.BadValue,
			`the annotation example.com/p of the namespace team is "abc"; write a whole number (the parameter p of the template side)`,
		},
		"that is missing": {
			"type: int, from: [{annotation: example.com/p}]", "", asks, nil, reason.BadValue,
			"metadata.annotations[example.com/p]: is missing, and the template side needs it for its parameter p; write a whole number",
		},
		"of a pod that asks for nothing": {
			"type: int, from: [{annotation: example.com/p}]", "match: {namespaceSelector: {}}", notes, nil, reason.MatchSkipped, "",
		},
		"of a pod that refuses the template": {
			"type: int, from: [{annotation: example.com/p}]", "", `"inject.usher.dev/side": "false", ` + notes, nil, reason.OptedOut, "",
		},
		"in a mandatory template": {
			`type: int, overridable: true, pattern: "[0-9]", from: [{annotation: example.com/p}]`, "mandatory: true\nmatch: {namespaceSelector: {}}", notes, nil, reason.BadValue,
			`is "abc"; write a whole number`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Object: fromYAML(t, asking(tc.annotations, "")), Namespace: "team", NamespaceAnnotations: tc.namespace,
				Templates: set(valueOf(t, tc.declaration, tc.options)),
			}
			d := Decide(r)
			if d.Reason != tc.reason || d.Denied != (tc.message != "") || !strings.Contains(d.Message(), tc.message) {
				t.Errorf("got %s: %s", d.Reason, d.Message())
			}
		})
	}
}

// Values are fixed when the template is added: what is edited later does not change
// them.
func TestParameters_AreFixedInTheRecord(t *testing.T) {
	r := Request{
		Object:    fromYAML(t, asking(asks+`, example.com/p: "8080"`, "")),
		Templates: set(valueOf(t, "type: int, from: [{annotation: example.com/p}], default: 1", "")),
	}
	r.Object = apply(t, r, Decide(r))
	if !strings.Contains(string(r.Object), `\"parameters\":{\"p\":\"8080\"}`) {
		t.Fatalf("the record lacks the value: %s", r.Object)
	}
	for _, edit := range []string{`"example.com/p":"9"`, `"example.com/p":"abc"`, `"example.com/q":"x"`} {
		edited := r
		edited.Object = []byte(strings.Replace(string(r.Object), `"example.com/p":"8080"`, edit, 1))
		if d := Decide(edited); d.Reason != reason.AlreadyInjected || len(d.Patch) > 0 {
			t.Errorf("%s: %s (%s) with the patch %s", edit, d.Reason, d.Message(), d.Patch.JSON())
		}
	}
}

// takeover is a mandatory template with one parameter of each kind of source.
func takeover(t testing.TB) *template.Template {
	t.Helper()
	return mustParse(t, "side", `
labels: {side.example.com/level: "${param.level}"}
annotations: {side.example.com/owner: "${param.owner}", side.example.com/zone: "${param.zone}"}
containers: [{name: side, image: "side:1", args: ["--level=${param.level}", "--ports=${param.ports}", "--zone=${param.zone}"]}]
`, `
mandatory: true
parameters:
- {name: level, overridable: true, pattern: "[a-z]{1,9}", default: info, from: [{annotation: example.com/level}]}
- {name: ports, type: ports, from: [{fact: containerPorts}]}
- {name: zone, maxLength: 9, default: a, from: [{namespaceAnnotation: example.com/zone}]}
- {name: owner, from: [{fact: ownerName}], default: nothing}
`)
}

func TestParameters_OfAMandatoryTemplate(t *testing.T) {
	r := Request{
		Object:    fromYAML(t, asking(asks+", example.com/level: debug", "containers: [{name: app, ports: [{containerPort: 80}]}]")),
		Templates: set(takeover(t)), NamespaceAnnotations: map[string]string{"example.com/zone": "b"},
	}
	r.Object = apply(t, r, Decide(r))
	if diff := cmp.Diff([]string{"--level=debug", "--ports=80", "--zone=b"}, sidecar(t, "", r.Object).Args); diff != "" {
		t.Fatal(diff)
	}
	replace := func(old, with string) Request {
		changed := r
		changed.Object = []byte(strings.Replace(string(r.Object), old, with, 1))
		if string(changed.Object) == string(r.Object) {
			t.Fatalf("the pod has no %s: %s", old, r.Object)
		}
		return changed
	}
	another := replace(`"containers":[`, `"containers":[{"name":"other","image":"o","ports":[{"containerPort":9}]},`)
	for name, tc := range map[string]struct {
		r      Request
		denied bool
	}{
		"unchanged":                              {r, false},
		"another webhook added a container":      {another, false},
		"another webhook changed the annotation": {replace(`"example.com/level":"debug"`, `"example.com/level":"info"`), false},
		"an argument was changed":                {replace("--level=debug", "--level=info"), true},
		"an argument and the record were changed": {func() Request {
			c := replace("--zone=b", "--zone=c")
			c.Object = []byte(strings.Replace(string(c.Object), `\"zone\":\"b\"`, `\"zone\":\"c\"`, 1))
			return c
		}(), true},
		"a value that the parameter does not allow": {func() Request {
			c := replace("--level=debug", "--level=DEBUG")
			c.Object = []byte(strings.Replace(string(c.Object), `\"level\":\"debug\"`, `\"level\":\"DEBUG\"`, 1))
			return c
		}(), true},
		"a label was changed":        {replace(`"side.example.com/level":"debug"`, `"side.example.com/level":"info"`), true},
		"the record lost the values": {replace(`,\"parameters\":{\"level\":\"debug\",\"owner\":\"p\",\"ports\":\"80\",\"zone\":\"b\"}`, ""), true},
	} {
		if d := VerifyMandatory(tc.r); d.Denied != tc.denied {
			t.Errorf("%s: denied %v: %s", name, d.Denied, d.Message())
		}
		if tc.denied {
			continue
		}
		if d := Decide(tc.r); d.Denied || len(d.Patch) > 0 {
			t.Errorf("%s: the second pass says %s (%s) with %s", name, d.Reason, d.Message(), d.Patch.JSON())
		}
	}
}

// TestParameters_TheFirstContainer_StaysThatOfTheRecord lets another webhook put a
// container before the others, and does not believe a record that names no container.
func TestParameters_TheFirstContainer_StaysThatOfTheRecord(t *testing.T) {
	tpl := mustParse(t, "side", "containers: [{name: side, image: s, args: ['${param.first}']}]", "mandatory: true\nparameters: [{name: first, from: [{fact: firstContainer}], default: none}]")
	r := Request{Object: fromYAML(t, asking(asks, "containers: [{name: app, image: a}]")), Templates: set(tpl)}
	r.Object = apply(t, r, Decide(r))
	for name, tc := range map[string]struct {
		replace [2]string
		denied  bool
	}{
		"another container before it": {[2]string{`"containers":[`, `"containers":[{"name":"other","image":"o"},`}, false},
		"another value":               {[2]string{`"args":["app"]`, `"args":["x"]`}, true},
	} {
		changed := r
		changed.Object = []byte(strings.Replace(string(r.Object), tc.replace[0], tc.replace[1], 1))
		if string(changed.Object) == string(r.Object) {
			t.Fatalf("%s: the pod has no %s: %s", name, tc.replace[0], r.Object)
		}
		if tc.denied {
			changed.Object = []byte(strings.Replace(string(changed.Object), `\"first\":\"app\"`, `\"first\":\"x\"`, 1))
		}
		if d := VerifyMandatory(changed); d.Denied != tc.denied {
			t.Errorf("%s: denied %v: %s", name, d.Denied, d.Message())
		}
	}
}

// An update edits the annotations of a running pod: each may change but those that
// the template gives.
func TestParameters_OfAMandatoryTemplate_OnUpdate(t *testing.T) {
	r := Request{
		Object:    fromYAML(t, asking(asks+", example.com/level: debug", "containers: [{name: app, ports: [{containerPort: 80}]}]")),
		Templates: set(takeover(t)),
	}
	running := apply(t, r, Decide(r))
	edit := func(object []byte, old, with string) []byte {
		out := strings.Replace(string(object), old, with, 1)
		if out == string(object) {
			t.Fatalf("the pod has no %s: %s", old, object)
		}
		return []byte(out)
	}
	// The pod's annotation was edited before, and the namespace's, too.
	edited := edit(running, `"example.com/level":"debug"`, `"example.com/level":"info"`)
	r.NamespaceAnnotations = map[string]string{"example.com/zone": "c"}
	for name, tc := range map[string]struct {
		old, is []byte
		denied  bool
	}{
		"the source":                         {running, edited, false},
		"the source, to a bad value":         {running, edit(running, `"example.com/level":"debug"`, `"example.com/level":"!"`), false},
		"the source, removed":                {running, edit(running, `"example.com/level":"debug",`, ""), false},
		"the label":                          {running, edit(running, `"side.example.com/level":"debug"`, `"side.example.com/level":"info"`), true},
		"the label, after the source":        {edited, edit(edited, `"side.example.com/level":"debug"`, `"side.example.com/level":"info"`), true},
		"the annotation of the template":     {edited, edit(edited, `"side.example.com/owner":"p"`, `"side.example.com/owner":"q"`), true},
		"the annotation, from the namespace": {edited, edit(edited, `"side.example.com/zone":"a"`, `"side.example.com/zone":"b"`), true},
		"the record":                         {edited, edit(edited, `\"level\":\"debug\"`, `\"level\":\"info\"`), true},
	} {
		r.Object = tc.is
		if d := VerifyUpdate(r, tc.old); d.Denied != tc.denied {
			t.Errorf("%s: denied %v: %s", name, d.Denied, d.Message())
		}
	}
}

// A revision of a mandatory template is mandatory as well, and need not say so: its
// parameters take nothing from the pod.
func TestParameters_OfARevisionOfAMandatoryTemplate(t *testing.T) {
	revision := valueOf(t, "from: [{annotation: example.com/p}], maxLength: 9, default: safe", "")
	revision.Revision = "next"
	r := Request{
		Object: fromYAML(t, asking(asks+`, inject.usher.dev/side.revision: next, example.com/p: unsafe`, "")),
		Templates: NewSet(map[string]Entry{
			"side": {Template: mustParse(t, "side", small, "mandatory: true")}, "side/next": {Template: revision},
		}),
	}
	d := Decide(r)
	if d.Denied {
		t.Fatal(d.Message())
	}
	if got := sidecar(t, "", apply(t, r, d)).Args[0]; got != "safe" {
		t.Errorf("the value is %q", got)
	}
}

func TestParameters_OmitEmpty(t *testing.T) {
	tpl := mustParse(t, "side", `
containers:
- name: side
  image: side:1
  args: [run, {omitEmpty: id, args: [--id, "${param.id}"]}, "--debug=${param.debug}"]
  env: [{name: ID, value: "${param.id}"}, {name: A, value: a}]
`, "parameters: [{name: id, maxLength: 9, omitEmpty: true, from: [{annotation: example.com/id}]}, {name: debug, type: bool, omitEmpty: true, from: [{annotation: example.com/debug}]}]")
	for notes, want := range map[string]string{
		"":                             "run; A",
		`, example.com/id: x`:          "run --id x; ID A",
		`, example.com/debug: "true"`:  "run --debug=true; A",
		`, example.com/debug: "false"`: "run; A",
		`, example.com/id: ""`:         "run; A",
	} {
		r := Request{Object: fromYAML(t, asking(asks+notes, "")), Templates: set(tpl)}
		d := Decide(r)
		if d.Denied {
			t.Fatal(d.Message())
		}
		c := sidecar(t, "", apply(t, r, d))
		var env []string
		for _, e := range c.Env {
			env = append(env, e.Name)
		}
		if got := strings.Join(c.Args, " ") + "; " + strings.Join(env, " "); got != want {
			t.Errorf("%s: got %s, want %s", notes, got, want)
		}
	}
}

// A label whose value is a parameter selects no other template, and the second pass
// does not take it for the pod's own.
func TestParameters_InALabelThatAMatchReads(t *testing.T) {
	r := Request{
		Object: fromYAML(t, asking(asks+", example.com/p: silver", "")),
		Templates: set(
			mustParse(t, "side", `{labels: {tier: "${param.p}"}, containers: [{name: side, image: i}]}`, "parameters: [{name: p, default: gold, maxLength: 9, from: [{annotation: example.com/p}]}]"),
			mustParse(t, "gold", `{containers: [{name: gold, image: i}]}`, "match: {podSelector: {matchLabels: {tier: gold}}}"),
			mustParse(t, "silver", `{containers: [{name: silver, image: i}]}`, "match: {podSelector: {matchLabels: {tier: silver}}}"),
		),
	}
	r.Object = apply(t, r, Decide(r))
	if strings.Contains(string(r.Object), `"name":"gold"`) || strings.Contains(string(r.Object), `"name":"silver"`) {
		t.Errorf("the label selected a template: %s", r.Object)
	}
	if d := Decide(r); d.Denied || len(d.Patch) > 0 {
		t.Errorf("the second pass says %s with %s", d.Reason, d.Patch.JSON())
	}
}

// A mandatory template is selected by the labels that the pod has in the end, and
// those may be parameters. What the API server sends must not depend on their values.
func TestParameters_InALabelThatSelectsAMandatoryTemplate(t *testing.T) {
	side := mustParse(t, "side", `{labels: {tier: "${param.p}"}, containers: [{name: side, image: i}]}`, "parameters: [{name: p, default: none, maxLength: 9, from: [{annotation: example.com/p}]}]")
	gold := mustParse(t, "gold", `{containers: [{name: gold, image: i}]}`, "mandatory: true\nmatch: {podSelector: {matchLabels: {tier: gold}}}")
	other := mustParse(t, "other", small, "match: {podSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [batch]}]}}")
	templates := set(side, gold, other)
	r := Request{Object: fromYAML(t, asking(asks+", example.com/p: gold", "")), Templates: templates}
	d := Decide(r)
	r.Object = apply(t, r, d)
	if !strings.Contains(string(r.Object), `"name":"gold"`) {
		t.Errorf("the pod lacks the mandatory template: %s", r.Object)
	}
	if d := VerifyMandatory(r); d.Denied {
		t.Error(d.Message())
	}
	if d := Decide(r); d.Denied || len(d.Patch) > 0 {
		t.Errorf("the second pass says %s with %s", d.Reason, d.Patch.JSON())
	}
	if !templates.LeadsToMandatory("side") {
		t.Error("the template side does not lead to the mandatory one")
	}
	if m := templates.WithoutAddedLabels(other.Options.Match); len(m.PodSelector.MatchExpressions) > 0 {
		t.Errorf("the API server would not send pods with a label that may be a template's: %v", m.PodSelector)
	}
}

func TestParameters_AValueThatALabelCannotHave(t *testing.T) {
	tpl := mustParse(t, "side", `{labels: {tier: "${param.p}"}, containers: [{name: side, image: i}]}`, "parameters: [{name: p, default: none, from: [{annotation: example.com/p}]}]")
	d := Decide(Request{Object: fromYAML(t, asking(asks+", example.com/p: a/b", "")), Templates: set(tpl)})
	const want = `metadata.annotations[example.com/p]: the template side would give the label tier the value "a/b": `
	if d.Reason != reason.BadValue || !strings.Contains(d.Message(), want) || !strings.Contains(d.Message(), "(the parameter p from annotation example.com/p)") {
		t.Errorf("%s: %s", d.Reason, d.Message())
	}
}

// Two templates with parameters may look as if they conflict, and a pod decides.
func TestParameters_OfTwoTemplatesWithOneLabel(t *testing.T) {
	labelled := func(name, value string) *template.Template {
		return mustParse(t, name, `{labels: {zone: "${param.p}"}, containers: [{name: `+name+`, image: i}]}`, "parameters: [{name: p, default: "+value+", maxLength: 9, from: [{annotation: example.com/p}]}]")
	}
	r := Request{NamespaceLabels: map[string]string{wellknown.LabelTemplates: "a.b"}, Templates: set(labelled("a", "x"), labelled("b", "y"))}
	r.Object = fromYAML(t, asking("example.com/p: z", ""))
	if d := Decide(r); d.Denied {
		t.Errorf("one value: %s", d.Message())
	}
	r.Object = fromYAML(t, asking("", ""))
	if d := Decide(r); d.Reason != reason.ConflictMetadata {
		t.Errorf("two values: %s %s", d.Reason, d.Message())
	}
}

// The ports of probes are those that the pod has, also if they are parameters.
func TestParameters_InAProbe(t *testing.T) {
	tpl := mustParse(t, "side", `containers: [{name: side, image: i, env: [{name: USHER_PROBE_PORTS}, {name: PORTS, value: "${param.ports}"}], readinessProbe: {tcpSocket: {port: "${param.port}"}}}]`,
		"parameters: [{name: port, type: int, min: 1, max: 65535, default: 80, from: [{annotation: example.com/port}]}, {name: ports, type: ports, from: [{fact: probePorts}]}]")
	r := Request{Object: fromYAML(t, asking(asks+`, example.com/port: "8081"`, "containers: [{name: app, livenessProbe: {tcpSocket: {port: 9}}}]")), Templates: set(tpl)}
	d := Decide(r)
	if d.Denied {
		t.Fatal(d.Message())
	}
	want := []corev1.EnvVar{{Name: "USHER_PROBE_PORTS", Value: "9,8081"}, {Name: "PORTS", Value: "9,8081"}}
	if diff := cmp.Diff(want, sidecar(t, "", apply(t, r, d)).Env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// An init container of a template is not a native sidecar that lost its restartPolicy.
func TestSecondPass_DoesNotWarnOfAnInitContainer(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", "{initContainers: [{name: init, image: i}], containers: [{name: side, image: i}]}", ""))}
	r.Object = apply(t, r, Decide(r))
	if d := Decide(r); len(d.Warnings) > 0 {
		t.Errorf("warnings: %q", d.Warnings)
	}
}

func TestParameters_AreExplained(t *testing.T) {
	d := Decide(Request{Object: fromYAML(t, asking(asks+", example.com/p: x", "")), Templates: set(valueOf(t, "maxLength: 9, default: a, from: [{annotation: example.com/p}]", "")), Explain: true})
	for _, s := range d.Steps {
		if s.String() == `parameter p of side: "x": from annotation example.com/p` {
			return
		}
	}
	t.Errorf("the steps do not show the parameter: %v", d.Steps)
}

func TestProve_TriesTheEndsOfParameters(t *testing.T) {
	tpl := mustParse(t, "side", `containers: [{name: side, image: i, resources: {requests: {cpu: "${param.cpu}"}}}]`, "parameters: [{name: cpu, type: quantity, min: 10m, max: 9, from: [{annotation: example.com/cpu}]}]")
	proof, err := Prove(tpl)
	if err != nil || len(proof.Problems) > 0 {
		t.Fatal(err, proof.Problems)
	}
	tried := map[string]bool{}
	for _, trial := range proof.Trials {
		var pod corev1.Pod
		if err := json.Unmarshal(trial.Injected, &pod); err != nil {
			t.Fatal(err)
		}
		for _, c := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
			if c.Name == "side" {
				tried[c.Resources.Requests.Cpu().String()+trial.With] = true
			}
		}
	}
	want := map[string]bool{"10m": true, "10m" + ends[0]: true, "9" + ends[1]: true}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
