package injector

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/finding/reason"
)

const proved = `
containers: [{name: side, image: "side:1", resources: {limits: {cpu: 1000m}}, env: [{name: A, value: a}, {name: B, value: b}]}]
volumes: [{name: v, configMap: {name: c}}]
`

// TestSecondPass decides about pods that carry a record.
func TestSecondPass(t *testing.T) {
	first := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", proved, ""))}
	once := string(apply(t, first, Decide(first)))
	version := mustParse(t, "side", proved, "").Version
	changed := set(mustParse(t, "side", strings.Replace(proved, "name: A, value: a", "name: A, value: x", 1), ""))
	renamed := set(mustParse(t, "side", strings.NewReplacer("name: side", "name: aside", "name: v", "name: w").Replace(proved), ""))

	tests := map[string]struct {
		object    string
		templates *Set
		want      reason.Reason
		message   string // of the denial, or of a warning
	}{
		"nothing is done twice":                                      {object: once, want: reason.AlreadyInjected},
		"what the API server defaults and writes again":              {object: throughServer(t, once), want: reason.AlreadyInjected},
		"a container that another webhook put before":                {object: strings.Replace(once, `{"name":"side"`, `{"name":"other","image":"o"},{"name":"side"`, 1), want: reason.AlreadyInjected},
		"a variable between":                                         {object: strings.Replace(once, `{"name":"B"`, `{"name":"Z","value":"z"},{"name":"B"`, 1), want: reason.AlreadyInjected},
		"an image of another registry":                               {object: strings.Replace(once, "side:1", "mirror.example.com/side@sha256:1", 1), want: reason.AlreadyInjected},
		"another image":                                              {object: strings.Replace(once, "side:1", "other:1", 1), want: reason.AlreadyInjected},
		"another value of a variable":                                {object: strings.Replace(once, `"value":"a"`, `"value":"changed"`, 1), want: reason.AlreadyInjected},
		"other resources":                                            {object: strings.Replace(once, `"cpu":"1000m"`, `"cpu":"7"`, 1), want: reason.AlreadyInjected},
		"another source of its volume":                               {object: strings.Replace(once, `"configMap":{"name":"c"}`, `"emptyDir":{}`, 1), want: reason.AlreadyInjected},
		"another version of the template":                            {object: once, templates: changed, want: reason.AlreadyInjected, message: "the pod has version " + version},
		"another version, whose items have other names":              {object: once, templates: renamed, want: reason.AlreadyInjected, message: "the pod has version " + version},
		"a record on a pod without any of its containers":            {object: strings.NewReplacer(`"name":"side"`, `"name":"fake"`).Replace(once), want: reason.Injected},
		"a record that names nothing, on a pod without the template": {object: asking(asks+`, "usher.dev/injected": "{\"side\":{\"version\":\"`+version+`\"}}"`, ""), want: reason.Injected},
		"a record of another version that names nothing":             {object: asking(asks+`, "usher.dev/injected": "{\"side\":{\"version\":\"sha256:1\"}}"`, ""), want: reason.Injected},
		"a record that names less than its version has, on another container": {
			object: asking(asks+`, "usher.dev/injected": "{\"side\":{\"version\":\"`+version+`\",\"containers\":[\"app\"]}}"`, "containers: [{name: app, image: app}, {name: side, image: mine}]"),
			want:   reason.RecordMismatch, message: "metadata.annotations[usher.dev/injected]: claims that version " + `"` + version,
		},
		"a record whose volume is gone, which is added again": {
			object: strings.Replace(once, `"name":"v"}`, `"name":"w"}`, 1), want: reason.Injected,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, tc.object), Templates: first.Templates}
			if tc.templates != nil {
				r.Templates = tc.templates
			}
			d := Decide(r)
			if d.Reason != tc.want || !strings.Contains(d.Message()+strings.Join(d.Warnings, ";"), tc.message) {
				t.Fatalf("got %s (%s; %v), want %s", d.Reason, d.Message(), d.Warnings, tc.want)
			}
			if d.Reason == reason.AlreadyInjected && len(d.Patch) > 0 {
				t.Errorf("a patch: %s", d.Patch.JSON())
			}
			if d.Reason != reason.Injected {
				return
			}
			r.Object = apply(t, r, d)
			if again := Decide(r); again.Reason != reason.AlreadyInjected {
				t.Errorf("a second pass: %s (%s)", again.Reason, again.Message())
			}
		})
	}
}

// throughServer encodes a pod as the API server does: decoded, with some
// defaults, encoded.
func throughServer(t *testing.T, object string) string {
	t.Helper()
	var p corev1.Pod
	if err := json.Unmarshal([]byte(object), &p); err != nil {
		t.Fatal(err)
	}
	mode := corev1.ConfigMapVolumeSourceDefaultMode
	p.Spec.Volumes[0].ConfigMap.DefaultMode = &mode
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
		p.Spec.Containers[i].TerminationMessagePath = "/dev/termination-log"
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNativeSidecarsAreRecordedToo(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "restartPolicy: Never, containers: [{name: app}]")), NativeSidecars: true, Templates: set(mustParse(t, "side", proved, ""))}
	once := apply(t, r, Decide(r))
	r.Object = once
	if d := Decide(r); d.Reason != reason.AlreadyInjected || len(d.Warnings) > 0 {
		t.Errorf("got %s (%s, %v), want already-injected", d.Reason, d.Message(), d.Warnings)
	}
	// A webhook that does not know the field removes it.
	r.Object = []byte(strings.Replace(string(once), `,"restartPolicy":"Always"`, "", 1))
	if d := Decide(r); d.Reason != reason.AlreadyInjected || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "removed its restartPolicy: Always") {
		t.Errorf("got %s with the warnings %v", d.Reason, d.Warnings)
	}
	// A mandatory template would protect nothing.
	r.Templates = set(mustParse(t, "side", proved, "mandatory: true"))
	if d := Decide(r); d.Reason != reason.MandatoryChanged {
		t.Errorf("got %s, want mandatory-changed", d.Reason)
	}
}

func TestEmptyValuesAreAdded(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(mustParse(t, "side", small+"\nlabels: {l: \"\"}\nannotations: {a: \"\"}", ""))}
	out := toYAML(t, apply(t, r, Decide(r)))
	for _, want := range []string{"    l: \"\"\n", "    a: \"\"\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}
