package injector

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/reason"
)

const proved = `
containers: [{name: side, image: "side:1", resources: {limits: {cpu: 1000m}}, env: [{name: A, value: a}, {name: B, value: b}]}]
volumes: [{name: v, configMap: {name: c}}]
`

// TestSecondPass decides about pods that carry a record.
func TestSecondPass(t *testing.T) {
	first := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(template(t, "side", proved, ""))}
	once := string(apply(t, first, Decide(first)))
	old := set(template(t, "side", strings.Replace(proved, "name: A, value: a", "name: A, value: x", 1), ""))
	mandatory := set(template(t, "side", strings.Replace(proved, "name: A, value: a", "name: A, value: x", 1), "mandatory: true"))
	// The same version, as only a forger has it.
	forged := template(t, "side", proved+`labels: {empty: ""}`, "")
	forged.Version = template(t, "side", proved, "").Version
	labelled := set(forged)

	tests := map[string]struct {
		object    string
		templates *Set
		want      reason.Reason
		message   string
	}{
		"nothing is done twice": {object: once, want: reason.AlreadyInjected},
		"what the API server defaults and writes anew changes nothing": {object: throughServer(t, once), want: reason.AlreadyInjected},
		"what another webhook put between changes nothing": {
			object: strings.NewReplacer(`{"name":"B"`, `{"name":"Z","value":"z"},{"name":"B"`, `{"name":"side"`, `{"name":"other","image":"o"},{"name":"side"`).Replace(once),
			want:   reason.AlreadyInjected,
		},
		"a record without its container is not believed": {
			object: strings.Replace(once, `"name":"side"`, `"name":"fake"`, 1), want: reason.Injected,
		},
		"a container with another image is not believed": {
			object: strings.Replace(once, "side:1", "evil:1", 1), want: reason.ConflictName, message: "the record usher.dev/injected claims that version",
		},
		"a container whose value was changed is not believed": {
			object: strings.Replace(once, `"value":"a"`, `"value":"changed"`, 1), want: reason.ConflictName,
		},
		"a volume with another source is not believed": {
			object: strings.Replace(once, `"configMap":{"name":"c"}`, `"emptyDir":{}`, 1), want: reason.ConflictName, message: "conflict-volume: spec.volumes[0]",
		},
		"a record without the template's label is not believed, though its value is empty": {
			object: once, templates: labelled, want: reason.ConflictName,
		},
		"a record that names nothing proves nothing": {
			object: asking(asks+`, "usher.dev/injected": "{\"side\":{\"version\":\"`+template(t, "side", proved, "").Version+`\"}}"`, ""), want: reason.Injected,
		},
		"of another version names and images are compared": {object: once, templates: old, want: reason.AlreadyInjected},
		"of another version with another image": {
			object: strings.Replace(once, "side:1", "side:0", 1), templates: old, want: reason.ConflictName,
		},
		"of another version of a mandatory template nothing is believed": {
			object: once, templates: mandatory, want: reason.BadValue, message: "claims version",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, tc.object), Templates: first.Templates}
			if tc.templates != nil {
				r.Templates = tc.templates
			}
			d := Decide(r)
			if d.Reason != tc.want || !strings.Contains(d.Message(), tc.message) {
				t.Fatalf("got %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			if d.Reason == reason.AlreadyInjected && len(d.Patch) > 0 {
				t.Errorf("a patch: %s", d.Patch.JSON())
			}
		})
	}
}

// throughServer writes a pod as the API server does: decoded, some fields
// defaulted, encoded.
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

func TestNativeSidecarsAreProvedToo(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "restartPolicy: Never, containers: [{name: app}]")), NativeSidecars: true, Templates: set(template(t, "side", proved, ""))}
	once := apply(t, r, Decide(r))
	r.Object = once
	if d := Decide(r); d.Reason != reason.AlreadyInjected {
		t.Errorf("got %s (%s), want already-injected", d.Reason, d.Message())
	}
	// The same container, but one that ends: the promise was another.
	r.Object = []byte(strings.Replace(string(once), `,"restartPolicy":"Always"`, "", 1))
	if d := Decide(r); d.Reason != reason.ConflictName {
		t.Errorf("got %s, want conflict-container", d.Reason)
	}
}

func TestEmptyValuesAreAdded(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(template(t, "side", small+"\nlabels: {l: \"\"}\nannotations: {a: \"\"}", ""))}
	out := toYAML(t, apply(t, r, Decide(r)))
	for _, want := range []string{"    l: \"\"\n", "    a: \"\"\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// TestAlwaysPullImages is the admission plugin of that name, which runs again
// between two passes.
func TestAlwaysPullImages(t *testing.T) {
	const config = "containers: [{name: side, image: 'side:1', imagePullPolicy: IfNotPresent}]\nvolumes: [{name: v, image: {reference: 'files:1', pullPolicy: IfNotPresent}}]"
	r := Request{Object: fromYAML(t, asking(asks, "")), Templates: set(template(t, "side", config, ""))}
	once := string(apply(t, r, Decide(r)))
	tests := map[string]struct {
		policy string
		want   reason.Reason
	}{
		"Always is the plugin's":       {"Always", reason.AlreadyInjected},
		"Never is nobody's we know of": {"Never", reason.ConflictName},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r.Object = []byte(strings.ReplaceAll(once, "IfNotPresent", tc.policy))
			if d := Decide(r); d.Reason != tc.want {
				t.Errorf("got %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
		})
	}
}
