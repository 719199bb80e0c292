package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

// agent gives pods an item of each kind.
const agent = `
containers: [{name: agent, image: a, ports: [{containerPort: 9000, hostPort: 9000}]}]
volumes: [{name: data, emptyDir: {}}]
hostAliases: [{ip: 10.0.0.1, hostnames: [one, two]}]
labels: {tier: agent}
annotations: {note: agent}
appContainers:
  env: [{name: AGENT_HOST, value: agent}, {name: JAVA_TOOL_OPTIONS, value: "-javaagent:/a.jar"}]
  volumeMounts: [{name: data, mountPath: /data}]
`

const everyPod = "match: {namespaceSelector: {}}"

// TestUnasked_SecondPassRepeatsTheWarning checks that the API server, which shows
// equal warnings once, shows only one of a template that was skipped in both passes,
// although another template moved the pod's init containers.
func TestUnasked_SecondPassRepeatsTheWarning(t *testing.T) {
	r := Request{
		Object:         fromYAML(t, "{metadata: {annotations: {inject.usher.dev/first: 'true'}}, spec: {initContainers: [{name: agent, image: mine}], containers: [{name: app}]}}"),
		Templates:      set(mustParse(t, "first", "containers: [{name: first, image: first:1}]", "native: always"), mustParse(t, "agent", agent, everyPod)),
		NativeSidecars: true,
	}
	first := Decide(r)
	want := []string{"the template agent, whose options.match selects the pod, was not injected: conflict-container: spec.initContainers[agent].name: " +
		`the container "agent" of template agent (containers) has the name of one of the pod's initContainers; rename one of them`}
	if diff := cmp.Diff(want, first.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	r.Object = apply(t, r, first)
	if !strings.Contains(toYAML(t, r.Object), "initContainers:\n  - image: first:1") {
		t.Fatalf("the pod's init container stays in its place:\n%s", toYAML(t, r.Object))
	}
	if diff := cmp.Diff(want, Decide(r).Warnings); diff != "" {
		t.Errorf("warnings of the second pass (-want +got):\n%s", diff)
	}
}

// TestUnasked checks that a template never denies a pod that only its match selects,
// and what such a pod keeps.
func TestUnasked(t *testing.T) {
	tests := map[string]struct {
		pod      string // metadata and spec
		want     reason.Reason
		warning  string
		has, not []string // parts of the injected pod
		keeps    []string
	}{
		"nothing in its place":        {pod: "spec: {containers: [{name: app}]}", want: reason.Injected},
		"another container":           {pod: "spec: {containers: [{name: agent, image: mine}]}", want: reason.MatchSkipped, warning: "the template agent, whose options.match selects the pod, was not injected: conflict-container: spec.containers[agent].name: the container \"agent\" of template agent (containers) has the name of one of the pod's containers"},
		"another volume":              {pod: "spec: {containers: [{name: app}], volumes: [{name: data, hostPath: {path: /}}]}", want: reason.MatchSkipped, warning: "conflict-volume: spec.volumes[data]: "},
		"a port of the host":          {pod: "spec: {containers: [{name: app, ports: [{containerPort: 1, hostPort: 9000}]}]}", want: reason.MatchSkipped, warning: "conflict-host-port: spec.containers[app].ports[0].hostPort: "},
		"another mount":               {pod: "spec: {containers: [{name: app, volumeMounts: [{name: mine, mountPath: /data}]}]}", want: reason.MatchSkipped, warning: "conflict-mount: spec.containers[app].volumeMounts[0]: "},
		"another value of a variable": {pod: "spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}", want: reason.Injected, warning: "the container app keeps its variable AGENT_HOST", has: []string{"value: mine", "name: JAVA_TOOL_OPTIONS"}, not: []string{"value: agent"}, keeps: []string{"variable AGENT_HOST of container app"}},
		"another label":               {pod: "metadata: {labels: {tier: mine}}, spec: {containers: [{name: app}]}", want: reason.Injected, warning: "the pod keeps metadata.labels[tier]", has: []string{"tier: mine", "note: agent"}, keeps: []string{"label tier"}},
		"another annotation":          {pod: "metadata: {annotations: {note: mine}}, spec: {containers: [{name: app}]}", want: reason.Injected, warning: "the pod keeps metadata.annotations[note]", has: []string{"note: mine", "tier: agent"}, keeps: []string{"annotation note"}},
		"a host name with another address": {pod: "spec: {containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [two]}]}", want: reason.Injected, warning: "the pod keeps its address of the host name two, which the template agent, whose options.match selects the pod, maps to 10.0.0.1",
			has: []string{"- hostnames:\n    - one\n    ip: 10.0.0.1", "- hostnames:\n    - two\n    ip: 10.0.0.9"}, keeps: []string{"host name two"}},
		"host names with other addresses": {pod: "spec: {containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [two, one]}]}", want: reason.Injected, warning: "the host name one, which the template agent", not: []string{"10.0.0.1"}, keeps: []string{"host name one", "host name two"}},
		"an address of another family":    {pod: "spec: {containers: [{name: app}], hostAliases: [{ip: 'fd00::1', hostnames: [two]}]}", want: reason.Injected, has: []string{"- one\n    - two\n    ip: 10.0.0.1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, "{"+tc.pod+"}"), Templates: set(mustParse(t, "agent", agent, everyPod))}
			d := Decide(r)
			if d.Denied || d.Reason != tc.want {
				t.Fatalf("%s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, tc.warning) || tc.warning == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
			if diff := cmp.Diff(tc.keeps, d.Outcomes[0].Keeps); diff != "" {
				t.Errorf("keeps (-want +got):\n%s", diff)
			}
			r.Object = apply(t, r, d)
			after := toYAML(t, r.Object)
			for _, part := range tc.has {
				if !strings.Contains(after, part) {
					t.Errorf("lacks %q:\n%s", part, after)
				}
			}
			for _, part := range tc.not {
				if strings.Contains(after, part) {
					t.Errorf("has %q:\n%s", part, after)
				}
			}
			if d := Decide(r); d.Denied || len(d.Patch) > 0 {
				t.Errorf("the second pass says %s with the patch %s", d.Reason, d.Patch.JSON())
			}
		})
	}
}

// TestUnasked_SamePodsThatAsk denies pods that ask for what the others keep or do
// without.
func TestUnasked_SamePodsThatAsk(t *testing.T) {
	for object, want := range map[string]reason.Reason{
		"spec: {containers: [{name: agent, image: mine}]}":                                               reason.ConflictName,
		"spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}":                      reason.ConflictEnv,
		"metadata: {labels: {tier: mine}}, spec: {containers: [{name: app}]}":                            reason.ConflictMetadata,
		"spec: {containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [two]}]}":             reason.Injected, // both addresses, as before
		"spec: {containers: [{name: app, ports: [{containerPort: 1, hostPort: 9000}]}]}":                 reason.ConflictHostPort,
		"spec: {containers: [{name: app}], volumes: [{name: data, hostPath: {path: /}}]}":                reason.ConflictVolume,
		"spec: {containers: [{name: app, volumeMounts: [{name: mine, mountPath: /data}]}]}":              reason.ConflictMount,
		"metadata: {annotations: {note: mine}}, spec: {containers: [{name: app}]}":                       reason.ConflictMetadata,
		"metadata: {annotations: {inject.usher.dev/agent.cpu: '1'}}, spec: {containers: [{name: app}]}":  reason.BadValue,
		"metadata: {annotations: {inject.usher.dev/agent: 'maybe'}}, spec: {containers: [{name: app}]}":  reason.BadValue,
		"metadata: {annotations: {inject.usher.dev/agent.revision: x}}, spec: {containers: [{name: a}]}": reason.TemplateMissing,
	} {
		d := Decide(Request{Object: fromYAML(t, "{"+object+"}"), NamespaceLabels: map[string]string{wellknown.LabelTemplates: "agent"}, Templates: set(mustParse(t, "agent", agent, everyPod))})
		if d.Reason != want || d.Denied != (want != reason.Injected) {
			t.Errorf("%s\ngot %s (%s), want %s", object, d.Reason, d.Message(), want)
		}
	}
}

// What the namespace says about revisions does not deny a pod that asks for nothing.
func TestUnasked_Revisions(t *testing.T) {
	for label, warning := range map[string]string{"agent.gone": "template-missing", "Agent": "bad-value"} {
		d := Decide(Request{Object: fromYAML(t, "{spec: {containers: [{name: app}]}}"), NamespaceLabels: map[string]string{wellknown.LabelRevisions: label}, Templates: set(mustParse(t, "agent", agent, everyPod))})
		if d.Denied || d.Reason != reason.MatchSkipped || !strings.Contains(strings.Join(d.Warnings, ""), warning) {
			t.Errorf("%s: %s (%s), warnings %v", label, d.Reason, d.Message(), d.Warnings)
		}
	}
}

// TestUnasked_WithTemplatesThatThePodAsksFor gives a pod what it asks for, and not
// what conflicts with that.
func TestUnasked_WithTemplatesThatThePodAsksFor(t *testing.T) {
	app := func(name, value, options string) *template.Template {
		return mustParse(t, name, "containers: [{name: "+name+", image: i}]\nappContainers: {env: [{name: A, value: "+value+"}]}", options)
	}
	label := func(name, value, options string) *template.Template {
		return mustParse(t, name, "containers: [{name: "+name+", image: i}]\nlabels: {tier: "+value+"}", options)
	}
	named := func(name, options string) *template.Template {
		return mustParse(t, name, "containers: [{name: same, image: "+name+"}]", options)
	}
	tests := map[string]struct {
		templates []*template.Template
		want      map[string]reason.Reason
	}{
		"a container, asked last":     {[]*template.Template{named("a", everyPod), named("b", "")}, map[string]reason.Reason{"a": reason.MatchSkipped, "b": reason.Injected}},
		"a container, asked first":    {[]*template.Template{named("b", ""), named("c", everyPod)}, map[string]reason.Reason{"b": reason.Injected, "c": reason.MatchSkipped}},
		"a label, asked last":         {[]*template.Template{label("a", "left", everyPod), label("b", "right", "")}, map[string]reason.Reason{"a": reason.Injected, "b": reason.Injected}},
		"a label, asked first":        {[]*template.Template{label("b", "right", ""), label("c", "left", everyPod)}, map[string]reason.Reason{"b": reason.Injected, "c": reason.Injected}},
		"a variable, asked last":      {[]*template.Template{app("a", "left", everyPod), app("b", "right", "")}, map[string]reason.Reason{"a": reason.Injected, "b": reason.Injected}},
		"a variable, asked first":     {[]*template.Template{app("b", "right", ""), app("c", "left", everyPod)}, map[string]reason.Reason{"b": reason.Injected, "c": reason.Injected}},
		"two that make way":           {[]*template.Template{app("a", "left", everyPod), label("aa", "left", everyPod), app("b", "right", "")}, map[string]reason.Reason{"a": reason.Injected, "aa": reason.Injected, "b": reason.Injected}},
		"two that it did not ask for": {[]*template.Template{named("a", everyPod), named("c", everyPod)}, map[string]reason.Reason{"a": reason.Injected, "c": reason.MatchSkipped}},
		"a mandatory one":             {[]*template.Template{app("a", "left", everyPod), app("c", "right", everyPod+"\nmandatory: true")}, map[string]reason.Reason{"a": reason.Injected, "c": reason.Injected}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(`"inject.usher.dev/b": "true"`, "")), Templates: set(tc.templates...)}
			if len(tc.want) > 0 && tc.want["b"] == "" {
				r.Object = fromYAML(t, asking("", ""))
			}
			d := Decide(r)
			if d.Denied {
				t.Fatal(d.Message())
			}
			got := map[string]reason.Reason{}
			for _, o := range d.Outcomes {
				got[o.Template] = o.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.Object = apply(t, r, d)
			if d := Decide(r); d.Denied || len(d.Patch) > 0 {
				t.Errorf("the second pass says %s (%s) with the patch %s", d.Reason, d.Message(), d.Patch.JSON())
			}
		})
	}
}

// TestOnConflict follows the policies of a template that the pod asks for.
func TestOnConflict(t *testing.T) {
	const appends = `onConflict: {env: {JAVA_TOOL_OPTIONS: {append: " "}}}`
	tests := map[string]struct {
		options, pod string
		want         reason.Reason
		warning      string
		has          []string
	}{
		"keep a variable":             {`onConflict: {env: {AGENT_HOST: keep}}`, "spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}", reason.Injected, "", []string{"value: mine"}},
		"keep by pattern":             {`onConflict: {env: {"AGENT_*": keep}}`, "spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}", reason.Injected, "", []string{"value: mine"}},
		"the name before":             {`onConflict: {env: {"*": keep, AGENT_HOST: deny}}`, "spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}", reason.ConflictEnv, "", nil},
		"keep a label":                {`onConflict: {labels: {tier: keep}}`, "metadata: {labels: {tier: mine}}, spec: {containers: [{name: app}]}", reason.Injected, "", []string{"tier: mine"}},
		"keep an annotation":          {`onConflict: {annotations: {"*": keep}}`, "metadata: {annotations: {note: mine}}, spec: {containers: [{name: app}]}", reason.Injected, "", []string{"note: mine"}},
		"keep a host name":            {`onConflict: {hostAliases: {two: keep}}`, "spec: {containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [one, two]}]}", reason.Injected, "", []string{"- hostnames:\n    - one\n    ip: 10.0.0.1"}},
		"deny a host name":            {`onConflict: {hostAliases: {two: deny}}`, "spec: {containers: [{name: app}], hostAliases: [{ip: 10.0.0.9, hostnames: [one, two]}]}", reason.ConflictHostAlias, "", nil},
		"append":                      {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS, value: -Xmx512m}]}]}`, reason.Injected, "", []string{"value: -Xmx512m -javaagent:/a.jar"}},
		"append to nothing":           {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS}]}]}`, reason.Injected, "", []string{"value: -javaagent:/a.jar"}},
		"add where it is unset":       {appends, `spec: {containers: [{name: app}]}`, reason.Injected, "", []string{"value: -javaagent:/a.jar"}},
		"append once":                 {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS, value: "-javaagent:/a.jar -Xmx512m"}]}]}`, reason.Injected, "", []string{"value: -javaagent:/a.jar -Xmx512m\n"}},
		"append to part of it":        {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS, value: "-javaagent:/a.jar2"}]}]}`, reason.Injected, "", []string{"value: -javaagent:/a.jar2 -javaagent:/a.jar\n"}},
		"not to a reference":          {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}]}`, reason.Injected, "the variable JAVA_TOOL_OPTIONS of the container app has no literal value", []string{"configMapKeyRef"}},
		"append to the last one":      {appends, `spec: {containers: [{name: app, env: [{name: JAVA_TOOL_OPTIONS, value: a}, {name: JAVA_TOOL_OPTIONS, value: b}]}]}`, reason.Injected, "", []string{"value: a\n", "value: b -javaagent:/a.jar\n"}},
		"append in an init container": {appends + "\nnative: always", `metadata: {annotations: {inject.usher.dev/agent.containers: "setup"}}, spec: {initContainers: [{name: setup, env: [{name: X, value: x}, {name: JAVA_TOOL_OPTIONS, value: a}]}], containers: [{name: app}]}`, reason.Injected, "", []string{"value: a -javaagent:/a.jar\n"}},
		"no policy for it":            {appends, `spec: {containers: [{name: app, env: [{name: AGENT_HOST, value: mine}]}]}`, reason.ConflictEnv, "", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, "{"+tc.pod+"}"), NativeSidecars: true, NamespaceLabels: map[string]string{wellknown.LabelTemplates: "agent"}, Templates: set(mustParse(t, "agent", agent, tc.options))}
			d := Decide(r)
			if d.Reason != tc.want {
				t.Fatalf("%s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if d.Denied {
				return
			}
			if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, tc.warning) || tc.warning == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
			r.Object = apply(t, r, d)
			after := toYAML(t, r.Object)
			for _, part := range tc.has {
				if !strings.Contains(after, part) {
					t.Errorf("lacks %q:\n%s", part, after)
				}
			}
			if strings.Count(after, "-javaagent:/a.jar\n")+strings.Count(after, "-javaagent:/a.jar -") > 1 {
				t.Errorf("the value is there twice:\n%s", after)
			}
			if d := Decide(r); d.Denied || len(d.Patch) > 0 {
				t.Errorf("the second pass says %s (%s) with the patch %s", d.Reason, d.Message(), d.Patch.JSON())
			}
		})
	}
}
