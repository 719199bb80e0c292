package network

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/podjson/podjsontest"
	"github.com/usher-dev/usher/network/multus"
)

const declares = `"samplecrd.k8s.io/network": `

func TestAttach(t *testing.T) {
	ready := map[string]State{"a": {Backend: MultusBackend}, "b": {Backend: MultusBackend}}
	tests := map[string]struct {
		object, kind, namespace, backend string
		networks                         map[string]State
		want                             reason.Reason
		denied                           bool
		attached                         string // the annotation's value afterwards
		message, warning                 string
	}{
		"nothing declared": {object: asking("", ""), want: reason.NotAsked},
		"one Network":      {object: asking(declares+`a`, ""), want: reason.NetworkAttached, attached: "ns/a"},
		"two, with a blank and one of them twice":  {object: asking(declares+`"a, b,a"`, ""), want: reason.NetworkAttached, attached: "ns/a,ns/b"},
		"next to names in the short form":          {object: asking(declares+`b, k8s.v1.cni.cncf.io/networks: "x@e,a"`, ""), want: reason.NetworkAttached, attached: "x@e,a,ns/b"},
		"next to a JSON list":                      {object: asking(declares+`b, k8s.v1.cni.cncf.io/networks: '[{"mtu":1e3,"name":"x"} ]'`, ""), want: reason.NetworkAttached, attached: `[{"mtu":1e3,"name":"x"},{"name":"b","namespace":"ns"} ]`},
		"one of two is there already":              {object: asking(declares+`"a,b", k8s.v1.cni.cncf.io/networks: a`, ""), want: reason.NetworkAttached, attached: "a,ns/b"},
		"there already, in the short form":         {object: asking(declares+`a, k8s.v1.cni.cncf.io/networks: a@eth1`, ""), want: reason.NetworkPresent, attached: "a@eth1"},
		"there already, as an element":             {object: asking(declares+`a, k8s.v1.cni.cncf.io/networks: '[{"name":"a"}]'`, ""), want: reason.NetworkPresent, attached: `[{"name":"a"}]`},
		"of that name in another namespace":        {object: asking(declares+`a, k8s.v1.cni.cncf.io/networks: other/a`, ""), want: reason.NetworkAttached, attached: "other/a,ns/a"},
		"not ready":                                {object: asking(declares+`a`, ""), networks: map[string]State{"a": {Unready: "BackendUnavailable"}}, want: reason.NetworkAttached, attached: "ns/a", warning: "the Network ns/a is not ready (BackendUnavailable)"},
		"in the template of a workload":            {kind: "CronJob", object: "{spec: {jobTemplate: {spec: {template: {metadata: {annotations: {" + declares + "c}}, spec: {containers: [{name: app}]}}}}}}", want: reason.NetworkMissing, denied: true, message: "spec.jobTemplate.spec.template.metadata.annotations[samplecrd.k8s.io/network]"},
		"missing":                                  {object: asking(declares+`"a,none"`, ""), want: reason.NetworkMissing, denied: true, message: `names the Network "none", which does not exist in namespace ns`},
		"being created":                            {object: asking(declares+`c`, ""), networks: map[string]State{"c": {Reason: reason.NetworkCreating, Detail: "is being created"}}, want: reason.NetworkCreating, denied: true, message: "is being created"},
		"without a range":                          {object: asking(declares+`c`, ""), networks: map[string]State{"c": {Reason: reason.NetworkPool, Detail: "the pool is exhausted"}}, want: reason.NetworkPool, denied: true, message: "exhausted"},
		"made by Neutron":                          {object: asking(declares+`a`, ""), networks: map[string]State{"a": {Backend: NeutronBackend}}, want: reason.NetworkBackend, denied: true, message: `the backend neutron, which does not attach pods`},
		"to be made by Neutron":                    {object: asking(declares+`a`, ""), networks: map[string]State{"a": {}}, backend: NeutronBackend, want: reason.NetworkBackend, denied: true, message: "neutron"},
		"made by Multus before Neutron was chosen": {object: asking(declares+`a`, ""), backend: NeutronBackend, want: reason.NetworkAttached, attached: "ns/a"},
		"on the node's network":                    {object: asking(declares+`a`, "hostNetwork: true, containers: [{name: app}]"), want: reason.NetworkBackend, denied: true, message: "spec.hostNetwork: is true"},
		"an empty value":                           {object: asking(declares+`""`, ""), want: reason.BadValue, denied: true, message: `metadata.annotations[samplecrd.k8s.io/network]: is ""`},
		"an empty name":                            {object: asking(declares+`"a,,b"`, ""), want: reason.BadValue, denied: true, message: `"" is none`},
		"another namespace's":                      {object: asking(declares+`"x/a"`, ""), want: reason.BadValue, denied: true, message: `"x/a" is none`},
		"what Multus attaches is unreadable":       {object: asking(declares+`a, k8s.v1.cni.cncf.io/networks: '{"name":"x"}'`, ""), want: reason.BadValue, denied: true, message: "metadata.annotations[k8s.v1.cni.cncf.io/networks]: is neither"},
		"an annotation that is not a string":       {object: asking(declares+`1`, ""), want: reason.Undecodable, denied: true, message: "quote it"},
		"a system namespace":                       {object: asking(declares+`a`, ""), namespace: "kube-system", want: reason.NamespaceExclude},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := AttachRequest{Object: fromYAML(t, tc.object), Kind: tc.kind, Namespace: "ns", Scope: decision.Scope{ReleaseNamespace: "usher-system"}, Networks: ready, Backend: tc.backend}
			if tc.networks != nil {
				r.Networks = tc.networks
			}
			if tc.namespace != "" {
				r.Namespace = tc.namespace
			}
			d := Attach(r)
			if d.Reason != tc.want || d.Denied != tc.denied {
				t.Fatalf("got %s, denied %t (%s); want %s, denied %t", d.Reason, d.Denied, d.Message(), tc.want, tc.denied)
			}
			if !strings.Contains(d.Message(), tc.message) {
				t.Errorf("message %q lacks %q", d.Message(), tc.message)
			}
			if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, tc.warning) || tc.warning == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tc.warning)
			}
			after, err := d.Patch.Apply(r.Object)
			if err != nil {
				t.Fatal(err)
			}
			if tc.attached != "" {
				annotations, _, _, _ := podjson.TemplateAnnotations(tc.kind, after)
				if diff := cmp.Diff(tc.attached, annotations[multus.Annotation]); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if lost := podjsontest.Lost(without(podjsontest.Decode(t, r.Object)), without(podjsontest.Decode(t, after)), ""); lost != "" {
				t.Errorf("%s was lost or changed: %s", lost, after)
			}
			r.Object = after
			if again := Attach(r); len(again.Patch) > 0 || again.Denied != tc.denied {
				t.Errorf("a second pass adds %s", again.Patch.JSON())
			}
		})
	}
}

// without removes the annotation that is extended from a decoded object.
func without(value any) any {
	if object, ok := value.(map[string]any); ok {
		delete(object, multus.Annotation)
		for _, inner := range object {
			without(inner)
		}
	}
	return value
}

func TestDeclaredBoundsWhatItLooksUp(t *testing.T) {
	names := strings.Split(strings.Repeat("n,", maxNetworks+1), ",")[:maxNetworks+1]
	for i := range names {
		names[i] += strings.Repeat("x", i)
	}
	if _, problem := declared(map[string]string{wellknown.AnnotationNetwork: strings.Join(names, ",")}); problem == nil || problem.Reason != reason.BadValue {
		t.Errorf("%d names: got %v", len(names), problem)
	}
	if got, problem := declared(map[string]string{wellknown.AnnotationNetwork: strings.Join(names[1:], ",")}); problem != nil || len(got) != maxNetworks {
		t.Errorf("%d names: got %d, %v", maxNetworks, len(got), problem)
	}
}

func TestOwnNetwork(t *testing.T) {
	const asks = `"samplecrd.k8s.io/own-network": "true"`
	deployment := func(own, template string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {` + own + `}}, spec: {template: {metadata: {annotations: {` + template + `}}, spec: {containers: [{name: app}]}}}}`
	}
	declared := deployment(asks, `"samplecrd.k8s.io/network": web`)
	tests := map[string]struct {
		object, old string
		label       string
		asked       bool
		declares    string // the template's annotation afterwards
		speaks      bool   // the Deployment's own annotation afterwards
		problem     string
		warning     string
	}{
		"nobody asks":                        {object: deployment("", "")},
		"the annotation asks":                {object: deployment(asks, ""), asked: true, declares: "web", speaks: true},
		"next to another Network":            {object: deployment(asks, `"samplecrd.k8s.io/network": "a, b"`), asked: true, declares: "a, b,web", speaks: true},
		"declared already":                   {object: declared, asked: true, declares: "web", speaks: true},
		"a template without metadata":        {object: `{metadata: {name: web, annotations: {` + asks + `}}, spec: {template: {spec: {}}}}`, asked: true, declares: "web", speaks: true},
		"no annotations at all":              {object: `{metadata: {name: web}, spec: {template: {}}}`, label: "true", asked: true, declares: "web", speaks: true},
		"the namespace asks":                 {object: deployment("", ""), label: "true", asked: true, declares: "web", speaks: true},
		"a refusal before the namespace":     {object: deployment(`"samplecrd.k8s.io/own-network": "false"`, ""), label: "true"},
		"the namespace refuses":              {object: deployment("", ""), label: "false"},
		"another value":                      {object: deployment(`"samplecrd.k8s.io/own-network": "yes"`, ""), problem: `metadata.annotations[samplecrd.k8s.io/own-network]: is "yes"; write "true" or "false"`},
		"another value of the namespace":     {object: deployment("", ""), label: "yes", problem: `label samplecrd.k8s.io/own-network is "yes"`},
		"a value that is not a string":       {object: deployment(`"samplecrd.k8s.io/own-network": true`, ""), problem: "quote it"},
		"a name that is not known yet":       {object: `{metadata: {generateName: web-, annotations: {` + asks + `}}, spec: {template: {}}}`, problem: "metadata.name: is not set"},
		"an unreadable declaration":          {object: deployment(asks, `"samplecrd.k8s.io/network": "A"`), problem: "spec.template.metadata.annotations[samplecrd.k8s.io/network]"},
		"a controller's":                     {object: `{metadata: {name: web, annotations: {` + asks + `}, ownerReferences: [{controller: true}]}, spec: {template: {}}}`, warning: "has a controller"},
		"a change of what was declared":      {object: deployment(asks, ""), old: declared, asked: true, declares: "web", speaks: true},
		"a change of what was not declared":  {object: deployment(asks, ""), old: deployment(asks, ""), asked: true, speaks: true},
		"a change that begins to ask":        {object: deployment(asks, ""), old: deployment("", ""), asked: true, declares: "web", speaks: true},
		"the namespace asks what is there":   {object: deployment("", ""), old: deployment("", ""), label: "true"},
		"an old object that cannot be read":  {object: deployment(asks, ""), old: `{metadata: 1}`, asked: true, speaks: true},
		"a change of what a namespace asked": {object: deployment("", ""), old: declared, label: "true"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object, labels := fromYAML(t, tc.object), map[string]string{}
			var old []byte
			if tc.old != "" {
				old = fromYAML(t, tc.old)
			}
			if tc.label != "" {
				labels[wellknown.OwnNetwork] = tc.label
			}
			own, problem := DeclareOwn(object, old, labels)
			if tc.problem != "" {
				if problem == nil || !strings.Contains(problem.String(), tc.problem) {
					t.Fatalf("got %v, want %q", problem, tc.problem)
				}
				return
			}
			if problem != nil {
				t.Fatal(problem)
			}
			if own.Asked != tc.asked || own.Asked && own.Network != "web" {
				t.Errorf("asked %t for %q, want %t", own.Asked, own.Network, tc.asked)
			}
			if !strings.Contains(strings.Join(own.Warnings, "\n"), tc.warning) || tc.warning == "" && len(own.Warnings) > 0 {
				t.Errorf("warnings %q, want %q", own.Warnings, tc.warning)
			}
			after, err := own.Patch.Apply(object)
			if err != nil {
				t.Fatal(err)
			}
			d, problem := readDeployment(after)
			if problem != nil {
				t.Fatal(problem)
			}
			if got := d.annotations()[wellknown.AnnotationNetwork]; got != tc.declares {
				t.Errorf("declares %q, want %q", got, tc.declares)
			}
			if got := d.Metadata.Annotations[wellknown.OwnNetwork] == "true"; got != tc.speaks && tc.warning == "" {
				t.Errorf("speaks for itself: %t, want %t", got, tc.speaks)
			}
			again, problem := DeclareOwn(after, old, labels)
			if problem != nil || len(again.Patch) > 0 {
				t.Errorf("a second pass: %v, %s", problem, again.Patch.JSON())
			}
		})
	}
}
