package injector

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/podjson/podjsontest"
	"github.com/usher-dev/usher/injector/template"
	"github.com/usher-dev/usher/kinds"
)

// TestMutationsOnlyAdd checks for any pod, workload and templates that the
// answer keeps everything that the user wrote in order, that a second pass
// changes nothing even after another webhook's edits, and that the two-way
// merge patch is equal to the JSON Patch or known not to be.
func TestMutationsOnlyAdd(t *testing.T) {
	injected, completed := 0, 0
	for seed := range uint64(3000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		templates := g.templates(t)
		kind, object := g.object(templates.Names())
		r := Request{Object: object, Kind: kind, Templates: templates, NativeSidecars: g.coin(), NamespaceLabels: g.labels(templates.Names())}
		if checkDecision(t, g, r) {
			injected++
			if strings.Contains(string(object), `"auto"`) {
				completed++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, object)
		}
	}
	if injected < 500 || completed < 50 {
		t.Errorf("%d of 3000 were injected, %d with image: auto: too few to prove anything", injected, completed)
	}
}

// checkDecision checks the invariants of every decision, and reports whether it
// injected.
func checkDecision(t *testing.T, g generator, r Request) bool {
	t.Helper()
	d := Decide(r)
	if d.Denied {
		if len(d.Patch) > 0 || len(d.Problems) == 0 {
			t.Errorf("denied with the patch %s and the problems %v", d.Patch.JSON(), d.Problems)
		}
		return false
	}
	if len(d.Patch) == 0 {
		return false
	}
	after := apply(t, r, d)
	before, completed := withoutAuto(podjsontest.Decode(t, r.Object))
	if where := podjsontest.Lost(before, podjsontest.Decode(t, after), ""); where != "" {
		t.Errorf("%s was lost or changed\nbefore %s\nafter  %s", where, r.Object, after)
	}
	for _, own := range completed {
		if !holds(podjsontest.Decode(t, after), own) {
			t.Errorf("the completed container %v is not in %s", own, after)
		}
	}
	_, err := podjson.TwoWayMergePatch(r.Kind, r.Object, after)
	if err != nil && !d.JSONOnly {
		t.Errorf("the two-way merge patch fails and nobody said so: %v", err)
	}
	for _, second := range [][]byte{after, g.edited(t, r.Kind, after)} {
		again := r
		again.Object = second
		if d := Decide(again); d.Denied || len(d.Patch) > 0 {
			t.Errorf("the second pass says %s (%s) with the patch %s\non %s", d.Reason, d.Message(), d.Patch.JSON(), second)
		}
	}
	return true
}

// withoutAuto takes the containers that the pod leaves to a template out of an
// object.
func withoutAuto(object any) (rest any, completed []map[string]any) {
	switch o := object.(type) {
	case map[string]any:
		if o["terminationGracePeriodSeconds"] == json.Number("30") {
			delete(o, "terminationGracePeriodSeconds") // the default, which a template may change
		}
		for key, value := range o {
			left, more := withoutAuto(value)
			if _, isList := value.([]any); isList && len(more) > 0 && len(left.([]any)) == 0 {
				left = nil
			}
			o[key], completed = left, append(completed, more...)
		}
	case []any:
		kept := []any{}
		for _, item := range o {
			if m, _ := item.(map[string]any); m["image"] == template.AutoImage {
				delete(m, "image")
				completed = append(completed, m)
				continue
			}
			left, more := withoutAuto(item)
			kept, completed = append(kept, left), append(completed, more...)
		}
		return kept, completed
	}
	return object, completed
}

// holds reports whether an object contains all of a container, in either list, or
// the container as the pod's author wrote it.
func holds(object any, own map[string]any) bool {
	switch o := object.(type) {
	case map[string]any:
		if o["name"] == own["name"] && podjsontest.Lost(own, o, "") == "" {
			return true
		}
		for _, value := range o {
			if holds(value, own) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(o, func(item any) bool { return holds(item, own) })
	}
	return false
}

// generator makes pods, workloads and templates that sometimes share names.
type generator struct{ *rand.Rand }

func (g generator) coin() bool             { return g.IntN(2) == 0 }
func (g generator) one(s ...string) string { return s[g.IntN(len(s))] }

// maybe returns the text with a chance of one in n.
func (g generator) maybe(n int, text func() string) string {
	if g.IntN(n) != 0 {
		return ""
	}
	return text()
}

func (g generator) templates(t *testing.T) *Set {
	var list []*template.Template
	for _, name := range []string{"envoy", "log", "agent"}[:1+g.IntN(3)] {
		config := map[string]any{}
		var containers []any
		for i := range 1 + g.IntN(2) {
			containers = append(containers, g.templateContainer(fmt.Sprintf("%s-%d", name, i)))
		}
		config["containers"] = containers
		if g.coin() {
			c := g.templateContainer(name + "-init")
			if g.coin() {
				c["restartPolicy"] = "Always"
			}
			config["initContainers"] = []any{c}
		}
		if g.coin() {
			config["volumes"] = []any{map[string]any{"name": g.one("data", name+"-conf"), "emptyDir": map[string]any{}}}
		}
		if g.coin() {
			config["labels"] = map[string]any{g.one("app", "x/"+name): g.one("a", "b")}
			config["annotations"] = map[string]any{"x.y/" + name: g.one("a", "ü\"\\")}
		}
		if g.coin() {
			config["hostAliases"] = []any{map[string]any{"ip": g.one("10.0.0.1", "10.0.0.2"), "hostnames": []any{g.one("a", "b")}}}
			config["imagePullSecrets"] = []any{map[string]any{"name": g.one("pull", name)}}
		}
		if g.IntN(3) == 0 {
			config["volumes"] = append(listOf(config["volumes"]), map[string]any{"name": name + "-app", "emptyDir": map[string]any{}})
			config["appContainers"] = map[string]any{
				"env":          []any{map[string]any{"name": g.one("A", "C", "D"), "value": g.one("1", "2")}, map[string]any{"name": "E_" + name, "value": "$(A)"}},
				"envFrom":      []any{map[string]any{"configMapRef": map[string]any{"name": g.one("cm", name)}}, map[string]any{"secretRef": map[string]any{"name": name}}},
				"volumeMounts": []any{map[string]any{"name": name + "-app", "mountPath": g.one("/app", "/"+name)}},
			}
		}
		if g.IntN(3) == 0 {
			config["shareProcessNamespace"], config["terminationGracePeriodSeconds"] = g.coin(), 20+20*g.IntN(3)
			config["securityContext"] = map[string]any{"fsGroup": g.IntN(2)}
			config["dnsConfig"] = map[string]any{"searches": []any{g.one("a.local", "b.local")}}
		}
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		options := "hostNetwork: allow\noverrideContainer: " + name + "-0\noverrides: [image, env]\nnative: " + g.one("auto", "always", "never")
		list = append(list, mustParse(t, name, string(text), options))
	}
	return set(list...)
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func (g generator) templateContainer(name string) map[string]any {
	c := map[string]any{"name": name, "image": "i:" + name}
	if g.coin() {
		c["env"] = []any{map[string]any{"name": "A", "value": "<&>"}, map[string]any{"name": "B", "value": "b"}}
		c["ports"] = []any{map[string]any{"containerPort": 80 + g.IntN(3)}}
		c["resources"] = map[string]any{"limits": map[string]any{"cpu": "1000m"}}
	}
	return c
}

func (g generator) labels(names []string) map[string]string {
	if g.IntN(3) > 0 {
		return nil
	}
	return map[string]string{wellknown.LabelTemplates: strings.Join(names, ".")}
}

func (g generator) object(names []string) (kind string, object []byte) {
	pod := g.pod(names)
	switch g.IntN(4) {
	case 0:
		return "Deployment", []byte(`{"kind":"Deployment","spec":{"replicas":2.50e1,"template":` + pod + `,"later":{"a":[1,2]}}}`)
	case 1:
		return "CronJob", []byte(`{"kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":` + pod + `}}}}`)
	}
	return "Pod", []byte(pod)
}

// pod writes a pod with unknown fields, unusual numbers, nulls, and names that
// templates also use.
func (g generator) pod(names []string) string {
	var notes []string
	for _, name := range names {
		if g.coin() {
			notes = append(notes, fmt.Sprintf(`"inject.usher.dev/%s":%q`, name, g.one("true", "true", "true", "false", "maybe")))
			if g.IntN(3) == 0 {
				notes = append(notes, fmt.Sprintf(`"inject.usher.dev/%s.env.X":"%d"`, name, g.IntN(9)))
			}
			if g.IntN(9) == 0 {
				notes = append(notes, fmt.Sprintf(`"inject.usher.dev/%s.containers":%q`, name, g.one("app", "app,setup", "web")))
			}
		}
	}
	meta := `"name":"p","unknown":[3.0,{"k":1e-7}]`
	switch {
	case len(notes) > 0 || g.coin():
		meta += `,"annotations":{` + strings.Join(notes, ",") + `}`
	case g.coin():
		meta += `,"annotations":null`
	}
	meta += g.maybe(2, func() string { return `,"labels":{"app":"` + g.one("a", "b") + `"}` })
	volumes, mounts := []string{"null", "[]", `[{"name":"data","emptyDir":{}}]`, `[{"name":"data","hostPath":{"path":"/"}}]`, `[{"name":"w","futureSource":{"x":1.0}}]`}, ""
	if g.coin() { // as the API server passes the pod on
		volumes = []string{`[{"name":"kube-api-access-x1","projected":{"sources":[]}}]`, `[{"name":"data","emptyDir":{}},{"name":"kube-api-access-x1","projected":{}}]`}
		mounts = `,"volumeMounts":[{"name":"kube-api-access-x1","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]`
	}
	spec := `"future":{"n":12345678901234567890,"s":"<é\u2028>"}`
	spec += g.maybe(3, func() string { return `,"restartPolicy":"` + g.one("Never", "OnFailure", "Always") + `"` })
	spec += g.maybe(4, func() string { return `,"hostNetwork":true` })
	spec += g.maybe(2, func() string { return `,"volumes":` + g.one(volumes...) })
	spec += g.maybe(2, func() string {
		return `,"initContainers":` + g.one("null", "[]", `[{"name":"setup"`+mounts+`},{"name":"late"`+mounts+`}]`)
	})
	spec += g.maybe(3, func() string { return `,"imagePullSecrets":[{"name":"` + g.one("pull", "mine") + `"}]` })
	spec += g.maybe(3, func() string { return `,"hostAliases":[{"ip":"10.0.0.1","hostnames":["` + g.one("a", "z") + `"]}]` })
	spec += g.maybe(3, func() string { return `,"terminationGracePeriodSeconds":` + g.one("30", "20", "null", "7") })
	spec += g.maybe(3, func() string {
		return `,"securityContext":` + g.one("{}", "null", `{"fsGroup":1,"x":2.0}`, `{"runAsUser":1e3}`)
	})
	spec += g.maybe(4, func() string { return `,"hostPID":true` })
	containers := []string{`{"name":"app","env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)"},{"name":"A","value":"2"}],"later":{"f":1.50}` + mounts + `}`}
	if g.IntN(3) == 0 {
		containers = append(containers, fmt.Sprintf(`{"name":%q,"ports":[{"containerPort":80}]%s}`, g.one("web", "envoy-0"), mounts))
	}
	if g.IntN(4) == 0 {
		auto := `{"name":"` + g.one("envoy-0", "log-0", "agent-init") + `","image":"auto","future":{"n":1.0},"env":[{"name":"B","value":"mine"},{"name":"Z","value":"` + g.one("1", "2") + `"}]` + mounts + `}`
		if g.IntN(3) > 0 || strings.Contains(spec, "initContainers") {
			containers = slices.Insert(containers, g.IntN(len(containers)+1), auto)
		} else {
			spec += `,"initContainers":[{"name":"setup"` + mounts + `},` + auto + `]`
		}
	}
	spec += `,"containers":[` + strings.Join(containers, ", ") + `]`
	return `{"metadata":{` + meta + `}, "spec":{` + spec + `}}`
}

// edited is the pod after another webhook inserted a container and an
// environment variable before others and set a default.
func (g generator) edited(t *testing.T, kind string, object []byte) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(object, &whole); err != nil {
		t.Fatal(err)
	}
	holder := whole
	for _, step := range kinds.Named(kind).Template() {
		holder = holder[step].(map[string]any)
	}
	spec := holder["spec"].(map[string]any)
	containers := spec["containers"].([]any)
	for _, c := range containers {
		c := c.(map[string]any)
		c["terminationMessagePath"] = "/dev/termination-log"
		env, _ := c["env"].([]any)
		c["env"] = slices.Insert(env, min(1, len(env)), any(map[string]any{"name": "ADDED", "value": "x"}))
	}
	spec["containers"] = slices.Insert(containers, 0, any(map[string]any{"name": "another-webhooks"}))
	out, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzDecide decodes and merges arbitrary input.
func FuzzDecide(f *testing.F) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 20 {
		_, object := g.object([]string{"side", "log"})
		f.Add(object, proved, "true")
	}
	f.Add(seedPod(f), small, "true")
	f.Fuzz(func(t *testing.T, object []byte, config, value string) {
		tpl, err := template.Parse("side", map[string]string{template.ConfigKey: config})
		if err != nil {
			return
		}
		for _, kind := range []string{"Pod", "Deployment", "CronJob"} {
			r := Request{Object: object, Kind: kind, Templates: set(tpl), NativeSidecars: true, NamespaceLabels: map[string]string{wellknown.LabelTemplates: "side"}}
			d := Decide(r)
			if d.Denied || len(d.Patch) == 0 {
				continue
			}
			after := apply(t, r, d)
			if where := podjsontest.Lost(podjsontest.Decode(t, object), podjsontest.Decode(t, after), ""); where != "" {
				t.Errorf("%s was lost or changed\nbefore %s\nafter  %s", where, object, after)
			}
			r.Object = after
			if d := Decide(r); d.Denied || len(d.Patch) > 0 {
				t.Errorf("the second pass says %s (%s)\non %s", d.Reason, d.Message(), after)
			}
		}
		if _, problem := PropagateOptIn("Deployment", object, nil); problem != nil && problem.Message == "" {
			t.Error("a problem without a word")
		}
	})
}
