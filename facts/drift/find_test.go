package drift_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/drift"
)

const (
	older   = "containers: [{name: side, image: example.com/side:1}]"
	current = "containers: [{name: side, image: example.com/side:2}]"
)

// pod is a pod with annotations and further containers.
func pod(name, annotations, containers string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, labels: {app: ` + name + `}, annotations: {` + annotations + `}}, spec: {containers: [{name: app, image: app}` + containers + `]}}`
}

// injected is a pod with a version of the template side.
func injected(name, version, image string) string {
	return pod(name, `inject.usher.dev/side: "true", usher.dev/injected: '{"side":{"version":"`+version+`","containers":["side"]}}'`, `, {name: side, image: "`+image+`"}`)
}

const asks = `inject.usher.dev/side: "true"`

// found lists findings as "pod owner template state", and those of one pod without
// a name.
func found(findings []drift.Finding) []string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(f.Pod, " ", f.Owner, " ", f.Template, " ", f.State)), " "))
	}
	return lines
}

func find(t *testing.T, i *installation, scope drift.Scope) []drift.Finding {
	t.Helper()
	findings, err := drift.Find(t.Context(), i.connect(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestFind(t *testing.T) {
	i := newInstallation(t, "")
	ns := i.namespace(t, nil)
	i.apply(t, ns,
		injected("current", version(t, current), "example.com/side:2"),
		injected("outdated", version(t, older), "example.com/side:1"),
		pod("missing", asks, ""),
		pod("silent", "", ""),
		pod("refuses", `inject.usher.dev/side: "false"`, ""),
		pod("unknown", `inject.usher.dev/nowhere: "true"`, ""),
		pod("present", asks, `, {name: side, image: "example.com/side:2"}`),
		pod("conflicts", asks, `, {name: side, image: "example.com/other"}`),
		strings.Replace(pod("host", asks, ""), "spec: {", "spec: {hostNetwork: true, ", 1),
		injected("forgotten", version(t, older), "example.com/side:1"),
	)
	// Nobody asks for its template any more.
	forgotten := &unstructured.Unstructured{}
	forgotten.SetAPIVersion("v1")
	forgotten.SetKind("Pod")
	forgotten.SetNamespace(ns)
	forgotten.SetName("forgotten")
	i.annotate(t, forgotten, map[string]any{"inject.usher.dev/side": nil})

	all := []string{"conflicts side denied", "missing side missing", "outdated side outdated", "unknown nowhere denied"}
	for name, tt := range map[string]struct {
		scope drift.Scope
		want  []string
	}{
		"a namespace":               {drift.Scope{Namespace: ns}, all},
		"labels":                    {drift.Scope{Namespace: ns, Selector: labels.SelectorFromSet(labels.Set{"app": "missing"})}, all[1:2]},
		"a pod":                     {drift.Scope{Namespace: ns, Objects: []string{"pod/outdated"}}, all[2:3]},
		"a pod that is current":     {drift.Scope{Namespace: ns, Objects: []string{"pod/current"}}, nil},
		"usher's own namespace":     {drift.Scope{Namespace: i.own}, nil},
		"an owner that has no pods": {drift.Scope{Namespace: ns, Objects: []string{"deployment/outdated"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(find(t, i, tt.scope))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	reasons := map[string]string{}
	for _, f := range find(t, i, drift.Scope{Namespace: ns}) {
		reasons[f.Pod] = f.Reason
	}
	for name, want := range map[string]string{
		"conflicts": `conflict-container: `,
		"missing":   "annotation inject.usher.dev/side asks for it; the pod was created before that, or while usher was down",
		"outdated":  "has version " + version(t, older)[:len("sha256:")+12] + ", the template is " + version(t, current)[:len("sha256:")+12],
		"unknown":   `template-missing: annotation inject.usher.dev/nowhere asks for the template "nowhere"`,
	} {
		if !strings.HasPrefix(reasons[name], want) {
			t.Errorf("%s: %q does not begin with %q", name, reasons[name], want)
		}
	}
	if _, err := drift.Find(t.Context(), i.connect(t), drift.Scope{Namespace: "nowhere"}); err == nil || !strings.Contains(err.Error(), `the namespace "nowhere" does not exist`) {
		t.Errorf("a namespace that does not exist: %v", err)
	}
}

// TestFind_ByOwner decides once for the pods of a Deployment, by its template.
func TestFind_ByOwner(t *testing.T) {
	i := newInstallation(t, "")
	ns := i.namespace(t, nil)
	shop := i.workload(t, ns, "shop", asks)
	i.owned(t, shop, injected("shop-a", version(t, older), "example.com/side:1"), pod("shop-b", asks, ""), injected("shop-c", version(t, current), "example.com/side:2"))
	calm := i.workload(t, ns, "calm", "")
	i.owned(t, calm, pod("calm-a", asks, "")) // someone annotated the pod
	gone := i.workload(t, ns, "gone", asks)
	i.owned(t, gone, pod("gone-a", asks, ""))
	if err := i.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"calm-a deployment/calm side missing", "gone-a deployment/gone side missing", "shop-a deployment/shop side outdated", "shop-b deployment/shop side missing",
	}
	if diff := cmp.Diff(want, found(find(t, i, drift.Scope{Namespace: ns}))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], found(find(t, i, drift.Scope{Namespace: ns, Objects: []string{"deployment/shop"}}))); diff != "" {
		t.Errorf("findings of the Deployment (-want +got):\n%s", diff)
	}
}

// TestFind_TakesTheWholeVerdict finds pods whose recreation rules, Pod Security and
// the configuration of usher deny.
func TestFind_TakesTheWholeVerdict(t *testing.T) {
	i := newInstallation(t, "")
	for name, tt := range map[string]struct {
		labels        map[string]string
		configuration string
		want, reason  string
	}{
		"nothing":           {want: "missing"},
		"Pod Security":      {labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}, want: "denied", reason: `the namespace enforces the Pod Security level "restricted:latest"`},
		"the label":         {labels: map[string]string{wellknown.LabelEnforce: "strict"}, want: "denied", reason: "sa-default: "},
		"the configuration": {configuration: "policies: {enforce: strict}", want: "denied", reason: "sa-default: "},
		"the label wins":    {labels: map[string]string{wellknown.LabelEnforce: "off"}, configuration: "policies: {enforce: strict}", want: "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			i.configure(t, tt.configuration)
			ns := i.namespace(t, nil)
			i.apply(t, ns, pod("bare", asks, ""))
			i.label(t, ns, tt.labels)
			findings := find(t, i, drift.Scope{Namespace: ns})
			if diff := cmp.Diff([]string{"bare side " + tt.want}, found(findings)); diff != "" {
				t.Fatalf("findings (-want +got):\n%s", diff)
			}
			if !strings.Contains(findings[0].Reason, tt.reason) {
				t.Errorf("the reason is %q, want %q", findings[0].Reason, tt.reason)
			}
		})
	}
}

// TestFind_Mandatory finds the pods that a mandatory template would deny as they
// are: with no configuration, with one, and in a namespace that pins a version.
func TestFind_Mandatory(t *testing.T) {
	for name, tt := range map[string]struct {
		options, configuration string
		labels                 map[string]string
		want                   []string
	}{
		"not mandatory":             {},
		"without a configuration":   {options: "mandatory: true", want: []string{"changed side denied", "refuses side denied"}},
		"with a configuration":      {options: "mandatory: true", configuration: "policies: {enforce: strict}", want: []string{"changed side denied", "refuses side denied"}},
		"a change is tolerated":     {options: "{mandatory: true, tolerate: [image]}", want: []string{"refuses side denied"}},
		"a pod may refuse it":       {options: "{mandatory: true, optOut: allow}", want: []string{"changed side denied"}},
		"an older release's pin":    {options: "mandatory: true", labels: map[string]string{wellknown.LabelEnforceVersion: "v0.1"}, want: []string{"changed side denied"}},
		"a pin that is not a value": {options: "mandatory: true", labels: map[string]string{wellknown.LabelEnforceVersion: "yesterday"}, want: []string{"changed side denied", "refuses side denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t, tt.options)
			if tt.configuration != "" {
				i.configure(t, tt.configuration)
			}
			labels := map[string]string{wellknown.LabelTemplates: "side"}
			for key, value := range tt.labels {
				labels[key] = value
			}
			ns := i.namespace(t, labels)
			record := version(t, current)
			i.apply(t, ns,
				injected("kept", record, "example.com/side:2"),
				injected("changed", record, "mirror.example.com/side:2"),
				pod("refuses", `inject.usher.dev/side: "false"`, ""))
			if diff := cmp.Diff(tt.want, found(find(t, i, drift.Scope{Namespace: ns}))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
