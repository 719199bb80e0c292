package injector

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/template"
)

const recognizable = `
containers: [{name: side, image: "registry.example.com/team/side:1", args: [--config, /etc/side], ports: [{containerPort: 15001}], env: [{name: A, value: a}], volumeMounts: [{name: v, mountPath: /etc/side}]}]
initContainers: [{name: setup, image: "setup:1", command: [setup]}]
volumes: [{name: v, configMap: {name: c}}, {name: unmounted, emptyDir: {}}]
labels: {sidecar: side}
annotations: {side.example.com/port: "15001"}
imagePullSecrets: [{name: pull}]
`

// copied is the injected pod without its record.
func copied(t *testing.T, r Request) string {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal(apply(t, r, Decide(r)), &pod); err != nil {
		t.Fatal(err)
	}
	pod["metadata"] = map[string]any{"name": "copy"}
	b, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCopies decides about pods that have a template's containers but no
// record, in a namespace that asks for the template, such as pods from kubectl
// debug --copy-to.
func TestCopies(t *testing.T) {
	labels := map[string]string{wellknown.LabelTemplates: "side"}
	first := Request{Object: fromYAML(t, asking("", "")), NamespaceLabels: labels, NativeSidecars: true, Templates: set(mustParse(t, "side", recognizable, ""))}
	once := copied(t, first)
	replace := func(pairs ...string) string {
		out := strings.NewReplacer(pairs...).Replace(once)
		if out == once {
			t.Fatalf("nothing was replaced: %v in %s", pairs, once)
		}
		return out
	}
	tests := map[string]struct {
		object string
		config string
		want   reason.Reason
		exact  bool     // it has all that the template writes
		adds   []string // what the patch is expected to add, beyond labels and annotations
	}{
		"as it is":                               {object: once, want: reason.AlreadyPresent, exact: true},
		"with another registry":                  {object: replace("registry.example.com/team/side:1", "mirror:5000/side@sha256:1"), want: reason.AlreadyPresent},
		"with other arguments, and its ports":    {object: replace(`"--config"`, `"--debug"`), want: reason.AlreadyPresent},
		"with its mounts alone":                  {object: replace(`"--config"`, `"--debug"`, "15001}", "1}"), want: reason.AlreadyPresent},
		"with another source of its volume":      {object: replace(`"configMap":{"name":"c"}`, `"emptyDir":{}`), want: reason.AlreadyPresent, exact: true},
		"of an older version":                    {object: once, config: strings.NewReplacer("side:1", "side:2", "value: a", "value: b").Replace(recognizable), want: reason.AlreadyPresent},
		"with another value of the label":        {object: replace(`"name":"copy"`, `"name":"copy","labels":{"sidecar":"mine"}`), want: reason.AlreadyPresent, exact: true},
		"without one of its volumes":             {object: replace(`{"emptyDir":{},"name":"unmounted"}`, `{"emptyDir":{},"name":"other"}`), want: reason.AlreadyPresent, exact: true, adds: []string{"/spec/volumes/-"}},
		"without one of its containers":          {object: replace(`"name":"setup"`, `"name":"other"`), want: reason.Injected, adds: []string{"/spec/initContainers/-"}},
		"with another image":                     {object: replace("team/side:1", "team/mine:1"), want: reason.ConflictName},
		"with nothing of what tells it apart":    {object: replace(`"--config"`, `"--debug"`, "15001}", "1}", `"mountPath":"/etc/side"`, `"mountPath":"/mine"`), want: reason.ConflictName},
		"with an init container that is another": {object: replace("setup:1", "mine:1"), want: reason.ConflictName},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := first
			r.Object = []byte(tc.object)
			if tc.config != "" {
				r.Templates = set(mustParse(t, "side", tc.config, ""))
			}
			d := Decide(r)
			if d.Reason != tc.want {
				t.Fatalf("got %s (%s), want %s", d.Reason, d.Message(), tc.want)
			}
			var adds []string
			for _, o := range d.Patch {
				if strings.HasPrefix(o.Path, "/spec/") {
					adds = append(adds, o.Path)
				}
			}
			if strings.Join(adds, " ") != strings.Join(tc.adds, " ") {
				t.Errorf("adds %v, want %v", adds, tc.adds)
			}
			if d.Denied {
				return
			}
			if tc.want == reason.AlreadyPresent && (len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "as those of the template side")) {
				t.Errorf("warnings %v", d.Warnings)
			}
			r.Object = apply(t, r, d)
			recorded := strings.Contains(string(r.Object), wellknown.AnnotationInjected)
			if want := tc.want == reason.Injected || tc.exact; recorded != want {
				t.Errorf("recorded %v, want %v", recorded, want)
			}
			want := reason.AlreadyPresent
			if recorded {
				want = reason.AlreadyInjected
			}
			if again := Decide(r); again.Reason != want || len(again.Patch) > 0 {
				t.Errorf("a second pass: %s with %s, want %s", again.Reason, again.Patch.JSON(), want)
			}
		})
	}
}

// An init container is not a sidecar.
func TestAnInitContainerIsNotRecognizedAsASidecar(t *testing.T) {
	const spec = "containers: [{name: app}], initContainers: [{name: side, image: 'side:1', args: [run]RESTART}]"
	for restart, want := range map[string]reason.Reason{"": reason.ConflictName, ", restartPolicy: Always": reason.AlreadyPresent} {
		r := Request{
			Object: fromYAML(t, asking(asks, strings.Replace(spec, "RESTART", restart, 1))), NativeSidecars: true,
			Templates: set(mustParse(t, "side", "containers: [{name: side, image: 'side:1', args: [run]}]", "")),
		}
		if d := Decide(r); d.Reason != want {
			t.Errorf("with %q: %s (%s), want %s", restart, d.Reason, d.Message(), want)
		}
	}
}

// An existing ordinary container is not added again as a native sidecar.
func TestAnOrdinaryContainerIsNotAddedAsANativeSidecar(t *testing.T) {
	for name, object := range map[string]string{
		"with a record": `"usher.dev/injected": '{"side":{"version":"sha256:1","containers":["side"]}}', `,
		"without":       "",
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Object: fromYAML(t, asking(object+asks, "restartPolicy: Never, containers: [{name: app}, {name: side, image: 'side:1', args: [run]}]")), NativeSidecars: true,
				Templates: set(mustParse(t, "side", "containers: [{name: side, image: 'side:2', args: [run]}]", "native: always")),
			}
			if d := Decide(r); !d.Reason.Has() || d.Reason == reason.Injected || len(d.Patch) > 0 {
				t.Errorf("got %s (%s) with %s", d.Reason, d.Message(), d.Patch.JSON())
			}
		})
	}
}

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"envoy": "envoy", "envoy:1": "envoy", "a/b/envoy:1": "envoy", "host:5000/envoy": "envoy", "host:5000/a/envoy:1@sha256:2": "envoy", "envoy@sha256:1": "envoy", "": "",
	} {
		if got := template.Repository(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}
