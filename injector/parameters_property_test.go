package injector

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/podjson/podjsontest"
	"github.com/usher-dev/usher/injector/template"
)

// parameterPods is the number of generated templates with parameters, and workloads
// that get them.
var parameterPods = 600

// TestParameters_EverySurfaceAgrees generates templates with parameters, and
// workloads with good and bad values. `usher inject` and `usher check` decide about
// the workload, and the webhook about its pod: both deny, or both give the pod the
// same items. Nothing of the user's is lost, and a second pass, the check after all
// mutations and an update find nothing to do, even after another webhook added a
// container with ports and someone edited the sources.
func TestParameters_EverySurfaceAgrees(t *testing.T) {
	injected, denied := 0, 0
	for seed := range uint64(parameterPods) {
		g := parameterGenerator{generator{rand.New(rand.NewPCG(seed, 7))}}
		tpl := g.template(t)
		w := g.workload()
		r := Request{
			Namespace: "team", NamespaceAnnotations: g.annotations("ns"), NativeSidecars: true,
			Templates: set(tpl),
		}
		onFile := r
		onFile.Object, onFile.Kind = w.object, w.kind
		created := r
		created.Object = w.pod
		file, pod := Decide(onFile), Decide(created)
		if file.Denied != pod.Denied || file.Reason != pod.Reason {
			t.Errorf("the workload: %s (%s)\nits pod: %s (%s)", file.Reason, file.Message(), pod.Reason, pod.Message())
		}
		switch {
		case file.Denied && pod.Denied:
			denied++
			continue
		case len(pod.Patch) > 0:
			injected++
			g.check(t, tpl, onFile, created)
		}
		if t.Failed() {
			t.Fatalf("seed %d\nworkload %s\npod %s\noptions %+v", seed, w.object, w.pod, tpl.Options)
		}
	}
	t.Logf("%d workloads: %d injected, %d denied", parameterPods, injected, denied)
	if injected < parameterPods/3 || denied < parameterPods/20 {
		t.Errorf("%d of %d were injected and %d denied: too few to prove anything", injected, parameterPods, denied)
	}
}

// check compares what a workload in a file and its pod in a cluster get, and what
// happens to the pod afterwards.
func (g parameterGenerator) check(t *testing.T, tpl *template.Template, onFile, created Request) {
	t.Helper()
	inFile, inCluster := apply(t, onFile, Decide(onFile)), apply(t, created, Decide(created))
	raw, _, problem := podjson.Template(onFile.Kind, inFile)
	if problem != nil {
		t.Fatal(problem)
	}
	var fromFile, fromCluster corev1.Pod
	for text, pod := range map[*[]byte]*corev1.Pod{(*[]byte)(&raw): &fromFile, &inCluster: &fromCluster} {
		if err := json.Unmarshal(*text, pod); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(fromFile.Spec, fromCluster.Spec); diff != "" {
		t.Errorf("the pods differ (-file +cluster):\n%s", diff)
	}
	if a, b := fromFile.Annotations["usher.dev/injected"], fromCluster.Annotations["usher.dev/injected"]; a != b {
		t.Errorf("the records differ:\nfile    %s\ncluster %s", a, b)
	}
	withoutAppended := appended.ReplaceAll(inCluster, []byte(`"value":"mine"`))
	if where := podjsontest.Lost(podjsontest.Decode(t, created.Object), podjsontest.Decode(t, withoutAppended), ""); where != "" {
		t.Errorf("%s was lost or changed\nbefore %s\nafter  %s", where, created.Object, inCluster)
	}
	later := created
	for _, object := range [][]byte{inCluster, editedLater(t, inCluster)} {
		later.Object = object
		if d := Decide(later); d.Denied || len(d.Patch) > 0 {
			t.Errorf("the second pass says %s (%s) with the patch %s\non %s", d.Reason, d.Message(), d.Patch.JSON(), object)
		}
		if d := VerifyMandatory(later); d.Denied {
			t.Errorf("the check after all mutations says %s\non %s", d.Message(), object)
		}
		if d := VerifyUpdate(later, inCluster); d.Denied {
			t.Errorf("the update is denied: %s\nto %s", d.Message(), object)
		}
	}
	later.Object = inFile
	later.Kind = onFile.Kind
	if d := Decide(later); d.Denied || len(d.Patch) > 0 {
		t.Errorf("the second pass over the file says %s (%s)", d.Reason, d.Message())
	}
	if tpl.Options.Mandatory {
		later.Kind, later.Object = "", []byte(strings.Replace(string(inCluster), `"image":"side:`, `"image":"evil:`, 1))
		if d := VerifyMandatory(later); !d.Denied {
			t.Errorf("the sidecar of a mandatory template was changed: %s", later.Object)
		}
	}
}

// editedLater is the pod after another webhook inserted a container with a port, and
// someone edited each annotation from which parameters take their values.
func editedLater(t *testing.T, object []byte) []byte {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal(object, &pod); err != nil {
		t.Fatal(err)
	}
	notes := pod["metadata"].(map[string]any)["annotations"].(map[string]any)
	for key := range notes {
		if strings.HasPrefix(key, "p.example.com/") {
			notes[key] = "edited since"
		}
	}
	spec := pod["spec"].(map[string]any)
	spec["containers"] = slices.Insert(spec["containers"].([]any), 0, any(map[string]any{"name": "another-webhooks", "ports": []any{map[string]any{"containerPort": 7}}}))
	out, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// appended is the pod's own variable, with the template's value behind it.
var appended = regexp.MustCompile(`"value":"mine,(fast|slow)"`)

type parameterGenerator struct{ generator }

// A declaration is a parameter, the place that takes it, and the values of pods.
type declaration struct {
	name, text string // of the declaration, without sources
	values     []string
}

var declarations = []declaration{
	{"port", "type: int, min: 1, max: 65535, default: 8080", []string{"1", "65535", "0", "http"}},
	{"ports", "type: ports", []string{"80,90-99", "", "x"}},
	{"cpu", "type: quantity, max: 4, default: 10m", []string{"1000m", "5"}},
	{"level", `pattern: "[a-z$()]{1,20}", default: info`, []string{"debug", "$(home)", "DEBUG"}},
	{"label", "maxLength: 200, default: none", []string{"a", strings.Repeat("long-", 20), "not/a/label"}},
	{"tag", "maxLength: 20, default: v1", []string{"v2", "5000/evil"}},
	{"debug", "type: bool, omitEmpty: true", []string{"true", "false", "yes"}},
	{"id", "maxLength: 9, omitEmpty: true", []string{"x", "", `"}],`}},
	{"mode", "type: enum, values: [fast, slow], default: slow", []string{"fast", "fasst"}},
}

// annotations are good and bad values, under keys with a suffix.
func (g parameterGenerator) annotations(suffix string) map[string]string {
	notes := map[string]string{}
	for _, d := range declarations {
		if g.IntN(3) == 0 {
			value := d.values[0]
			if g.IntN(9) == 0 {
				value = g.one(d.values...)
			} else if len(d.values) > 2 {
				value = g.one(d.values[:len(d.values)-1]...)
			}
			if d.name == "port" && g.IntN(9) > 0 && value == "0" {
				value = "9"
			}
			notes["p.example.com/"+d.name+"-"+suffix] = value
		}
	}
	return notes
}

func (g parameterGenerator) template(t *testing.T) *template.Template {
	mandatory := g.IntN(3) == 0
	var lines []string
	for _, d := range declarations {
		var from []string
		overridable := mandatory && g.coin()
		for i, source := range []string{"annotation: p.example.com/" + d.name + "-pod", "label: " + d.name, "namespaceAnnotation: p.example.com/" + d.name + "-ns"} {
			if g.coin() && (i == 2 || !mandatory || overridable) {
				from = append(from, "{"+source+"}")
			}
		}
		switch d.name {
		case "ports":
			from = append(from, "{fact: "+g.one("containerPorts", "probePorts")+"}")
		case "label", "level":
			from = append(from, "{fact: "+g.one("ownerName", "ownerKind", "containerNames", "firstContainer")+"}")
		}
		text := d.text
		if overridable {
			text += ", overridable: true"
			if !strings.Contains(text, "pattern") {
				text += `, pattern: "(?s).*"`
			}
		}
		lines = append(lines, fmt.Sprintf("- {name: %s, from: [%s], %s}", d.name, strings.Join(from, ", "), text))
	}
	app := `appContainers: {env: [{name: SIDE_MODE, value: "${param.mode}"}]}`
	options := fmt.Sprintf("native: %s\nmandatory: %v\nparameters:\n%s", g.one("auto", "preferred", "always"), mandatory, strings.Join(lines, "\n"))
	if g.coin() {
		options += "\nplace: " + g.one("first", "last")
	}
	switch {
	case mandatory: // a container that another webhook adds would lack them
		app = ""
	case g.coin():
		options += "\nonConflict: " + g.one(`{env: {SIDE_MODE: {append: ","}}}`, `{env: {SIDE_*: keep}, labels: {"*": keep}}`, `{env: {SIDE_MODE: deny}}`, `{labels: {side.example.com/label: keep}}`)
	}
	return mustParse(t, "side", `
labels: {side.example.com/label: "${param.label}"}
annotations: {side.example.com/mode: "${param.mode}"}
initContainers:
- {name: init, image: "init:${param.tag}", env: [{name: PORTS, value: "${param.ports}"}]}
containers:
- name: side
  image: side:1
  args: ["--level=${param.level}", {omitEmpty: id, args: [--id, "${param.id}"]}, "--debug=${param.debug}", "$${param.none}"]
  ports: [{containerPort: "${param.port}"}]
  startupProbe: {tcpSocket: {port: "${param.port}"}}
  resources: {requests: {cpu: "${param.cpu}"}}
`+app, options)
}

// A generated workload, and the pod that its controller creates.
type generatedWorkload struct {
	kind        string
	object, pod []byte
}

func (g parameterGenerator) workload() generatedWorkload {
	notes, labels := g.annotations("pod"), map[string]string{}
	notes["inject.usher.dev/side"] = "true"
	for _, d := range declarations {
		if d.name != "id" && g.IntN(6) == 0 {
			labels[d.name] = d.values[0]
		}
	}
	spec := map[string]any{"containers": []any{map[string]any{"name": "app", "ports": []any{map[string]any{"containerPort": 80 + g.IntN(3)}}, "livenessProbe": map[string]any{"tcpSocket": map[string]any{"port": 8000}}}}}
	if g.coin() {
		spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "web", "future": 1})
	}
	if g.IntN(4) == 0 {
		spec["containers"].([]any)[0].(map[string]any)["env"] = []any{map[string]any{"name": "SIDE_MODE", "value": "mine"}}
	}
	if g.IntN(8) == 0 {
		labels["side.example.com/label"] = "mine"
	}
	if g.coin() {
		spec["initContainers"] = []any{map[string]any{"name": "migrate"}, map[string]any{"name": "proxy", "restartPolicy": "Always"}}
	}
	kind := g.one("Pod", "Deployment", "StatefulSet", "Job", "CronJob")
	if kind == "Job" || kind == "CronJob" {
		spec["restartPolicy"] = "Never"
	}
	written := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // maps of texts
		}
		return text
	}
	meta := map[string]any{"annotations": notes, "labels": labels}
	template := map[string]any{"metadata": meta, "spec": spec}
	owned := func(kind, owner, hash string) []byte {
		own := map[string]any{"name": owner + "-x", "annotations": notes, "labels": labels, "ownerReferences": []any{map[string]any{"controller": true, "kind": kind, "name": owner}}}
		if hash != "" {
			all := map[string]string{PodTemplateHash: hash}
			for key, value := range labels {
				all[key] = value
			}
			own["labels"] = all
		}
		return written(map[string]any{"metadata": own, "spec": spec})
	}
	holder := map[string]any{"kind": kind, "metadata": map[string]any{"name": "shop"}, "spec": map[string]any{"template": template}}
	switch kind {
	case "Pod":
		meta["name"] = "shop"
		return generatedWorkload{kind, written(template), written(template)}
	case "Deployment":
		return generatedWorkload{kind, written(holder), owned("ReplicaSet", "shop-5d4f", "5d4f")}
	case "CronJob":
		holder["spec"] = map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
		return generatedWorkload{kind, written(holder), owned("Job", "shop-28903950", "")}
	}
	return generatedWorkload{kind, written(holder), owned(kind, "shop", "")}
}
