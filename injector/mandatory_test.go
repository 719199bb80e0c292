package injector

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/injector/decision"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

const guarding = `
containers: [{name: side, image: "registry.example.com/side:1", args: [--config, /etc/side], ports: [{containerPort: 15001}], env: [{name: A, value: a}], volumeMounts: [{name: v, mountPath: /etc/side}],
  livenessProbe: {httpGet: {port: 15001}}, lifecycle: {preStop: {httpGet: {port: 1}}}, securityContext: {runAsUser: 7}, resources: {limits: {cpu: 1000m}}}]
volumes: [{name: v, configMap: {name: c}}]
labels: {sidecar: side}
annotations: {side.example.com/port: "15001"}
`

func edited(t *testing.T, object string, edit func(pod, side map[string]any)) []byte {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal([]byte(object), &pod); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"containers", "initContainers"} {
		items, _ := pod["spec"].(map[string]any)[list].([]any)
		for _, c := range items {
			if c := c.(map[string]any); c["name"] == "side" {
				edit(pod, c)
			}
		}
	}
	b, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changes are modifications of a sidecar by others, with the tolerance that
// allows them.
var changes = map[string]struct {
	edit    func(pod, side map[string]any)
	allowed template.Tolerance
	added   bool // versions before v0.2 do not deny it
	field   string
}{
	"the image is pinned":     {func(_, s map[string]any) { s["image"] = "registry.example.com/side@sha256:1" }, template.TolerateImage, false, "spec.containers[1].image"},
	"the registry is swapped": {func(_, s map[string]any) { s["image"] = "mirror.example.com/side:1" }, template.TolerateImage, false, "spec.containers[1].image"},
	"the image is another":    {func(_, s map[string]any) { s["image"] = "registry.example.com/evil:1" }, "", false, "spec.containers[1].image"},
	"requests are set":        {func(_, s map[string]any) { at(s, "resources")["requests"] = map[string]any{"memory": "1Gi"} }, template.TolerateResources, true, "spec.containers[1].resources.requests.memory"},
	"a limit is changed":      {func(_, s map[string]any) { at(s, "resources", "limits")["cpu"] = "2" }, template.TolerateResources, false, "spec.containers[1].resources.limits.cpu"},
	"a variable is added": {func(_, s map[string]any) {
		s["env"] = append(s["env"].([]any), map[string]any{"name": "B", "value": "b"})
	}, template.TolerateEnv, true, "spec.containers[1].env[1]"},
	"a variable is given twice": {func(_, s map[string]any) {
		s["env"] = append(s["env"].([]any), map[string]any{"name": "A", "value": "b"})
	}, "", true, "spec.containers[1].env[1]"},
	"a variable is changed": {func(_, s map[string]any) { s["env"].([]any)[0].(map[string]any)["value"] = "b" }, "", false, "spec.containers[1].env[0]"},
	"all variables of a Secret": {func(_, s map[string]any) {
		s["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": "x"}}}
	}, template.TolerateEnv, true, "spec.containers[1].envFrom"},
	"a mount is added":                {func(_, s map[string]any) { mount(s, "w", "/var/run/identity") }, template.TolerateVolumeMounts, true, "spec.containers[1].volumeMounts[1]"},
	"a mount hides the template's":    {func(_, s map[string]any) { mount(s, "w", "/etc/side/rules") }, "", true, "spec.containers[1].volumeMounts[1]"},
	"a mount is above the template's": {func(_, s map[string]any) { mount(s, "w", "/etc") }, "", true, "spec.containers[1].volumeMounts[1]"},
	"the security context":            {func(_, s map[string]any) { at(s, "securityContext")["runAsUser"] = 0 }, template.TolerateSecurityContext, false, "spec.containers[1].securityContext.runAsUser"},
	"the command is emptied":          {func(_, s map[string]any) { s["command"] = []any{"/bin/true"} }, "", true, "spec.containers[1].command"},
	"an argument is added":            {func(_, s map[string]any) { s["args"] = append(s["args"].([]any), "--allow-all") }, "", true, "spec.containers[1].args[2]"},
	"an argument is removed":          {func(_, s map[string]any) { s["args"] = s["args"].([]any)[:1] }, "", false, "spec.containers[1].args[1]"},
	"a probe":                         {func(_, s map[string]any) { delete(s, "livenessProbe") }, "", false, "spec.containers[1].livenessProbe"},
	"it is not restarted":             {func(_, s map[string]any) { s["restartPolicy"] = "Never" }, "", true, "spec.containers[1].restartPolicy"},
	"the label has another value":     {func(p, _ map[string]any) { at(p, "metadata", "labels")["sidecar"] = "none" }, template.TolerateLabels, false, "metadata.labels[sidecar]"},
	"the annotation has another one":  {func(p, _ map[string]any) { at(p, "metadata", "annotations")["side.example.com/port"] = "1" }, template.TolerateAnnotations, false, "metadata.annotations[side.example.com/port]"},
	"its volume has another source": {func(p, _ map[string]any) {
		v := at(p, "spec")["volumes"].([]any)[0].(map[string]any)
		delete(v, "configMap")
		v["emptyDir"] = map[string]any{}
	}, "", false, "spec.volumes[0]"},
	"an emptyDir named as the token's volume": {func(p, s map[string]any) {
		spec := at(p, "spec")
		spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "kube-api-access-x", "emptyDir": map[string]any{}})
		mount(s, "kube-api-access-x", podjson.TokenPath)
	}, template.TolerateVolumeMounts, true, "spec.containers[1].volumeMounts[1]"},
}

func at(o map[string]any, path ...string) map[string]any {
	for _, step := range path {
		next, ok := o[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[step] = next
		}
		o = next
	}
	return o
}

func mount(c map[string]any, name, path string) {
	list, _ := c["volumeMounts"].([]any)
	c["volumeMounts"] = append(list, map[string]any{"name": name, "mountPath": path, "readOnly": true})
}

// TestMandatory changes the sidecar of an injected pod: without the matching
// tolerance the pod is denied at both points of admission and on UPDATE, and
// with it the pod is admitted.
func TestMandatory(t *testing.T) {
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			for _, tolerated := range []template.Tolerance{"", template.TolerateImage, template.TolerateResources, template.TolerateEnv, template.TolerateVolumeMounts, template.TolerateSecurityContext, template.TolerateLabels, template.TolerateAnnotations} {
				options := "{mandatory: true}"
				if tolerated != "" {
					options = "{mandatory: true, tolerate: [" + string(tolerated) + "]}"
				}
				r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, options))}
				once := apply(t, r, Decide(r))
				r.Object = edited(t, string(once), c.edit)
				denied := c.allowed == "" || c.allowed != tolerated
				decisions := map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r), "VerifyUpdate": VerifyUpdate(r, once)}
				for by, d := range decisions {
					if by == "VerifyUpdate" && strings.HasPrefix(c.field, "spec.volumes") {
						continue // immutable
					}
					switch {
					case d.Denied != denied:
						t.Errorf("%s, tolerating %q: denied %v, want %v: %s", by, tolerated, d.Denied, denied, d.Message())
					case denied && (d.Reason != reason.MandatoryChanged || !strings.HasPrefix(d.Problems[0].Field, c.field)):
						t.Errorf("%s says %s of %s, want %s", by, d.Reason, d.Problems[0].Field, c.field)
					case !denied && len(d.Patch) > 0:
						t.Errorf("%s adds %s", by, d.Patch.JSON())
					}
				}
				if tolerated != "" {
					continue
				}
				// Earlier versions denied only changed or missing items, and no updates.
				r.Pin = release.V(0, 1)
				for by, d := range map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r), "VerifyUpdate": VerifyUpdate(r, once)} {
					if by == "VerifyUpdate" && strings.HasPrefix(c.field, "spec.volumes") {
						continue
					}
					if want := !c.added && by != "VerifyUpdate"; d.Denied != want || d.Denied == (len(d.Warnings) > 0) {
						t.Errorf("%s in a namespace pinned to v0.1: denied %v, want %v; warnings %v", by, d.Denied, want, d.Warnings)
					}
					byName := strings.Replace(c.field, "containers[1]", "containers[side]", 1)
					if by == "Decide" && !d.Denied && !strings.HasPrefix(d.Warnings[0], byName) {
						t.Errorf("%s warns of %q, want %s", by, d.Warnings, byName) // a second pass would see another index
					}
				}
			}
		})
	}
}

// TestMandatory_AdmissionOfTheServer applies the API server's own admission and
// defaulting to the pod.
func TestMandatory_AdmissionOfTheServer(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, "mandatory: true"))}
	once := string(apply(t, r, Decide(r)))
	tests := map[string]struct {
		edit func(pod, side map[string]any)
		want bool
	}{
		"nothing":                        {func(_, _ map[string]any) {}, true},
		"AlwaysPullImages":               {func(_, s map[string]any) { s["imagePullPolicy"] = "Always" }, true},
		"no pull policy of the plugin's": {func(_, s map[string]any) { s["imagePullPolicy"] = "Never" }, false},
		"defaults": {func(_, s map[string]any) {
			s["imagePullPolicy"], s["terminationMessagePath"], s["terminationMessagePolicy"] = "IfNotPresent", "/dev/termination-log", "File"
			s["ports"].([]any)[0].(map[string]any)["protocol"] = "TCP"
			probe := at(s, "livenessProbe")
			probe["timeoutSeconds"], probe["periodSeconds"], probe["successThreshold"], probe["failureThreshold"] = 1, 10, 1, 3
			at(probe, "httpGet")["path"], at(probe, "httpGet")["scheme"] = "/", "HTTP"
			get := at(s, "lifecycle", "preStop", "httpGet")
			get["path"], get["scheme"] = "/", "HTTP"
			at(s, "resources")["requests"] = map[string]any{"cpu": "1"}
			s["resizePolicy"] = []any{map[string]any{"resourceName": "cpu", "restartPolicy": "NotRequired"}}
		}, true},
		"the token": {func(p, s map[string]any) {
			spec := at(p, "spec")
			spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "kube-api-access-x", "projected": map[string]any{"sources": []any{
				map[string]any{"serviceAccountToken": map[string]any{"path": "token"}}, map[string]any{"configMap": map[string]any{"name": "kube-root-ca.crt"}}, map[string]any{"downwardAPI": map[string]any{}},
			}}})
			mount(s, "kube-api-access-x", podjson.TokenPath)
		}, true},
		"a token of the pod's own in its place": {func(p, s map[string]any) {
			spec := at(p, "spec")
			spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "mine", "projected": map[string]any{"sources": []any{map[string]any{"serviceAccountToken": map[string]any{"path": "token"}}}}})
			mount(s, "mine", podjson.TokenPath)
		}, false},
		"a LimitRange": {func(p, s map[string]any) {
			at(s, "resources")["requests"] = map[string]any{"memory": "1Gi", "cpu": "1"}
			at(p, "metadata", "annotations")[limitRangerNote] = "LimitRanger plugin set: cpu limit for container app; memory request for container side"
		}, true},
		"a LimitRange of another container": {func(p, s map[string]any) {
			at(s, "resources")["requests"] = map[string]any{"memory": "1Gi", "cpu": "1"}
			at(p, "metadata", "annotations")[limitRangerNote] = "LimitRanger plugin set: memory request for container app"
		}, false},
		"a LimitRange does not change what is set": {func(p, s map[string]any) {
			at(s, "resources", "limits")["cpu"] = "7"
			at(p, "metadata", "annotations")[limitRangerNote] = "LimitRanger plugin set: cpu limit for container side"
		}, false},
		"a record of the previous release": {func(p, _ map[string]any) {
			recordAs(p, `,"options":"`+mustParse(t, "side", guarding, "mandatory: true").OptionsDigest+`"`, "")
		}, true},
		"the record is gone":                  {func(p, _ map[string]any) { delete(at(p, "metadata", "annotations"), wellknown.AnnotationInjected) }, false},
		"the record names another container":  {func(p, _ map[string]any) { recordAs(p, `"side"]`, `"app"]`) }, false},
		"the record is of another version":    {func(p, _ map[string]any) { recordAs(p, "sha256:", "sha256:0") }, false},
		"the record is written with escapes":  {func(p, _ map[string]any) { recordAs(p, `{"side"`, "{\"\\u0073ide\"") }, false},
		"a pull secret is not the template's": {func(p, _ map[string]any) { at(p, "spec")["imagePullSecrets"] = []any{map[string]any{"name": "x"}} }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r.Object = edited(t, once, tc.edit)
			d := VerifyMandatory(r)
			if d.Denied == tc.want {
				t.Errorf("VerifyMandatory: denied %v, want %v: %s %s", d.Denied, !tc.want, d.Reason, d.Message())
			}
			// If only the record is wrong, injection rewrites it.
			d = Decide(r)
			if strings.HasPrefix(name, "the record") == (len(d.Patch) == 0) {
				t.Errorf("Decide: %s %s with %s", d.Reason, d.Message(), d.Patch.JSON())
			}
			if len(d.Patch) > 0 {
				again := r
				again.Object = apply(t, r, d)
				if d := VerifyMandatory(again); d.Denied {
					t.Errorf("after that VerifyMandatory says %s", d.Message())
				}
			}
		})
	}
}

// TestMandatory_AsNativeSidecars admits a pod that ends by itself twice.
func TestMandatory_AsNativeSidecars(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "restartPolicy: Never, containers: [{name: app}]")), NativeSidecars: true, Templates: set(mustParse(t, "side", guarding, "mandatory: true"))}
	once := apply(t, r, Decide(r))
	r.Object = once
	for by, d := range map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r), "VerifyUpdate": VerifyUpdate(r, once)} {
		if d.Denied || len(d.Patch) > 0 {
			t.Errorf("%s: %s (%s) with %s", by, d.Reason, d.Message(), d.Patch.JSON())
		}
	}
	// As an ordinary container it would keep the pod from ending, and would not
	// run before the pod's own containers.
	r.Object = fromYAML(t, asking(asks, "restartPolicy: Never, containers: [{name: app}, {name: side, image: 'side:1', args: [run]}]"))
	r.Templates = set(mustParse(t, "side", "containers: [{name: side, image: 'side:1', args: [run]}]", "mandatory: true"))
	if d := Decide(r); d.Reason != reason.MandatoryChanged || !strings.Contains(d.Message(), "must be a native sidecar") {
		t.Errorf("as an ordinary container: %s (%s)", d.Reason, d.Message())
	}
}

// TestOptOut_InAPinnedNamespace expects a warning where the pinned version did
// not deny.
func TestOptOut_InAPinnedNamespace(t *testing.T) {
	r := Request{
		Object: fromYAML(t, asking(`"inject.usher.dev/side": "false"`, "")), NamespaceLabels: map[string]string{wellknown.LabelTemplates: "side"},
		Templates: set(mustParse(t, "side", guarding, "mandatory: true")), Pin: release.V(0, 1),
	}
	if d := Decide(r); d.Denied || d.Reason != reason.OptedOut || len(d.Warnings) != 1 {
		t.Errorf("%s (%s), warnings %v", d.Reason, d.Message(), d.Warnings)
	}
}

func recordAs(pod map[string]any, old, new string) {
	notes := at(pod, "metadata", "annotations")
	notes[wellknown.AnnotationInjected] = strings.Replace(notes[wellknown.AnnotationInjected].(string), old, new, 1)
}

func TestHold_NothingWasInjected_IsDenied(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, "mandatory: true"))}
	d := VerifyMandatory(r)
	for _, what := range []string{"the container side", "the volume v", "the label sidecar", "the annotation side.example.com/port"} {
		if !strings.Contains(d.Message(), "the pod lacks "+what) {
			t.Errorf("%s: %s lacks %q", d.Reason, d.Message(), what)
		}
	}
	r.Pin = release.V(0, 1)
	if d := VerifyMandatory(r); d.Denied || len(d.Warnings) != 4 || len(d.Patch) > 0 {
		t.Errorf("in a namespace pinned to v0.1: denied %v, warnings %v", d.Denied, d.Warnings)
	}
	r.Pin = release.Version{}
	r.Templates = set(mustParse(t, "side", guarding, ""))
	if d := VerifyMandatory(r); d.Denied || d.Reason != reason.NotAsked {
		t.Errorf("of a template that is not mandatory: %s (%s)", d.Reason, d.Message())
	}
	r.Templates = set(mustParse(t, "other", guarding, "mandatory: true"))
	if d := VerifyMandatory(r); d.Reason != reason.TemplateMissing {
		t.Errorf("of a template that is not known: %s (%s)", d.Reason, d.Message())
	}
	r.Object = fromYAML(t, asking(`"inject.usher.dev/side": "maybe"`, ""))
	r.Templates = set(mustParse(t, "side", guarding, "mandatory: true"))
	if d := VerifyMandatory(r); d.Reason != reason.BadValue {
		t.Errorf("of a value that was changed after injection: %s (%s)", d.Reason, d.Message())
	}
}

// TestMandatory_Replaced edits the template while pods are created: a replica
// that does not have the edit yet injects, and one that has it validates.
func TestMandatory_Replaced(t *testing.T) {
	was, is := mustParse(t, "side", guarding, "mandatory: true"), mustParse(t, "side", strings.Replace(guarding, "side:1", "side:2", 1), "mandatory: true")
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(was)}
	once := apply(t, r, Decide(r))
	edit := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.Object = once
	r.Templates = NewSet(map[string]Entry{"side": {Template: is, Replaced: []Replaced{{was, edit}}}})
	for after, want := range map[time.Duration]bool{0: true, ReplacedFor - 1: true, ReplacedFor: false} {
		r.Now = edit.Add(after)
		for by, d := range map[string]*decision.Decision{"Decide": Decide(r), "VerifyMandatory": VerifyMandatory(r)} {
			if d.Denied == want || want && (len(d.Patch) > 0 || d.Outcomes[0].Version != was.Version) {
				t.Errorf("%s, %s after the edit: %s (%s) with %s", by, after, d.Reason, d.Message(), d.Patch.JSON())
			}
		}
		// A template edit must not block updates of running pods.
		r.Object = []byte(strings.Replace(string(once), `"labels":{`, `"labels":{"mine":"x",`, 1))
		if d := VerifyUpdate(r, once); d.Denied {
			t.Errorf("a label patch %s after the edit: %s", after, d.Message())
		}
		r.Object = once
	}
	r.Now = time.Time{}
	if d := VerifyMandatory(r); !d.Denied {
		t.Error("without a time a replaced version counts")
	}
}

// TestHoldUpdate_WhatIsNotTheTemplates covers updates that do not affect a
// mandatory template, or that usher must never deny.
func TestHoldUpdate_WhatIsNotTheTemplates(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", guarding, "mandatory: true"))}
	once := string(apply(t, r, Decide(r)))
	recordless := edited(t, once, func(p, _ map[string]any) { delete(at(p, "metadata", "annotations"), wellknown.AnnotationInjected) })
	edits := map[string]struct {
		edit func(pod, side map[string]any)
		old  []byte
		want reason.Reason
	}{
		"a label":                        {edit: func(p, _ map[string]any) { at(p, "metadata", "labels")["mine"] = "x" }, want: reason.AlreadyInjected},
		"the app's image":                {edit: func(p, _ map[string]any) { at(p, "spec")["containers"].([]any)[0].(map[string]any)["image"] = "app:2" }, want: reason.AlreadyInjected},
		"finalizers":                     {edit: func(p, _ map[string]any) { at(p, "metadata")["finalizers"] = []any{} }, want: reason.AlreadyInjected},
		"the key that asked":             {edit: func(p, _ map[string]any) { delete(at(p, "metadata", "annotations"), "inject.usher.dev/side") }, want: reason.AlreadyInjected},
		"the record":                     {edit: func(p, _ map[string]any) { delete(at(p, "metadata", "annotations"), wellknown.AnnotationInjected) }, want: reason.RecordMismatch},
		"the record of another template": {edit: func(p, _ map[string]any) { recordAs(p, `{"side"`, `{"other":{"version":""},"side"`) }, want: reason.AlreadyInjected},
		"what the record says":           {edit: func(p, _ map[string]any) { recordAs(p, `["side"]`, `["app"]`) }, want: reason.RecordMismatch},
		"a pod that is being deleted": {edit: func(p, s map[string]any) {
			at(p, "metadata")["deletionTimestamp"], s["image"] = "2026-01-01T00:00:00Z", "evil:1"
		}, want: reason.NotAsked},
		"a label of a pod without a record": {edit: func(p, _ map[string]any) {
			delete(at(p, "metadata", "annotations"), wellknown.AnnotationInjected)
			at(p, "metadata", "labels")["mine"] = "x"
		}, old: recordless, want: reason.AlreadyInjected},
		"a record that was lost": {edit: func(map[string]any, map[string]any) {}, old: recordless, want: reason.AlreadyInjected},
	}
	for name, tc := range edits {
		t.Run(name, func(t *testing.T) {
			r.Object = edited(t, once, tc.edit)
			if tc.old == nil {
				tc.old = []byte(once)
			}
			if d := VerifyUpdate(r, tc.old); d.Reason != tc.want || d.Denied != (tc.want == reason.RecordMismatch) {
				t.Errorf("got %s, denied %v (%s), want %s", d.Reason, d.Denied, d.Message(), tc.want)
			}
		})
	}
}

func TestTolerances_AreForMandatoryTemplates(t *testing.T) {
	for options, want := range map[string]string{
		"tolerate: [image]": "is only for mandatory templates", "{mandatory: true, tolerate: [images]}": `is "images"; write one of image, resources, env`, "optOut: maybe": `is "maybe"; write one of allow, deny`,
	} {
		_, err := template.Parse("side", map[string]string{template.ConfigKey: small, template.OptionsKey: options})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
	plain, same := mustParse(t, "side", small, "mandatory: true"), mustParse(t, "side", small, "{mandatory: true, optOut: deny}")
	if plain.Version != same.Version {
		t.Error("the default of optOut changes the version")
	}
	a, b := mustParse(t, "side", small, "{mandatory: true, tolerate: [env, image]}"), mustParse(t, "side", small, "{mandatory: true, tolerate: [image, env, env]}")
	if a.Version != b.Version || a.Version == plain.Version {
		t.Errorf("versions %v", slices.Compact([]string{a.Version, b.Version, plain.Version}))
	}
}
