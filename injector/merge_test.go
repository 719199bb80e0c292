package injector

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
)

func TestSeedPodGetsTheSeedsEnvoy(t *testing.T) {
	r := Request{Object: seedPod(t), Namespace: "default", Templates: set(seedTemplate(t))}
	d := Decide(r)
	got := toYAML(t, apply(t, r, d))
	version := seedTemplate(t).Version
	want := `apiVersion: v1
kind: Pod
metadata:
  annotations:
    initializer.kubernetes.io/envoy: "true"
    usher.dev/injected: '{"envoy":{"version":"` + version + `","options":"default","containers":["envoy"],"volumes":["envoy-conf"]}}'
  labels:
    app: myapp
  name: myapp-pod
spec:
  containers:
  - command:
    - sh
    - -c
    - echo Hello Kubernetes! && sleep 3600
    image: busybox
    name: myapp-container
  - args:
    - --concurrency 4
    - --config-path /etc/envoy/envoy.json
    - --mode serve
    command:
    - /usr/local/bin/envoy
    image: lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1
    name: envoy
    ports:
    - containerPort: 80
      protocol: TCP
    resources:
      limits:
        cpu: 1000m
        memory: 512Mi
      requests:
        cpu: 100m
        memory: 64Mi
    volumeMounts:
    - mountPath: /etc/envoy
      name: envoy-conf
  volumes:
  - configMap:
      name: envoy
    name: envoy-conf
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("injected pod (-want +got):\n%s", diff)
	}
	if got, want := len(d.Patch), 3; got != want {
		t.Errorf("%d operations, want %d, one an addition: %s", got, want, d.Patch.JSON())
	}
}

func TestPlacement(t *testing.T) {
	config := `
containers: [{name: proxy, image: p}, {name: agent, image: a}]
initContainers:
- {name: redirect, image: r}
- {name: early, image: e, restartPolicy: Always}
`
	tests := map[string]struct {
		options, spec    string
		containers, init []string
	}{
		"ordinary containers come after the pod's, init containers too, native sidecars first": {
			spec:       "initContainers: [{name: user}], containers: [{name: app}]",
			containers: []string{"app", "proxy", "agent"}, init: []string{"early", "user", "redirect"},
		},
		"in a pod that ends all become native sidecars": {
			spec:       "restartPolicy: Never, initContainers: [{name: user}], containers: [{name: app}]",
			containers: []string{"app"}, init: []string{"proxy", "agent", "early", "user", "redirect"},
		},
		"native: always makes them native in every pod": {
			options: "native: always", spec: "containers: [{name: app}]",
			containers: []string{"app"}, init: []string{"proxy", "agent", "early", "redirect"},
		},
		"a null list counts as none": {
			spec:       "initContainers: null, volumes: null, containers: [{name: app}]",
			containers: []string{"app", "proxy", "agent"}, init: []string{"early", "redirect"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{
				Object: fromYAML(t, asking(asks, tc.spec)), NativeSidecars: true,
				Templates: set(mustParse(t, "side", config, tc.options)),
			}
			d := Decide(r)
			if d.Denied {
				t.Fatal(d.Message())
			}
			var got podjson.Pod
			if err := json.Unmarshal(apply(t, r, d), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.containers, names(got.Spec.Containers)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.init, names(got.Spec.InitContainers)); diff != "" {
				t.Errorf("init containers (-want +got):\n%s", diff)
			}
		})
	}
}

func names(containers []podjson.Container) []string {
	var list []string
	for _, c := range containers {
		list = append(list, c.Name)
	}
	return list
}

func TestUnions(t *testing.T) {
	config := small + `
imagePullSecrets: [{name: have}, {name: want}]
hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}, {ip: 10.0.0.2, hostnames: [c]}]
labels: {l: v}
annotations: {n: v}
`
	r := Request{
		Object:    fromYAML(t, asking(asks, "imagePullSecrets: [{name: have}], hostAliases: [{ip: 10.0.0.1, hostnames: [a]}], containers: [{name: app}]")),
		Templates: set(mustParse(t, "side", config, "")),
	}
	d := Decide(r)
	var got map[string]any
	if err := json.Unmarshal(apply(t, r, d), &got); err != nil {
		t.Fatal(err)
	}
	spec := got["spec"].(map[string]any)
	want := []any{map[string]any{"name": "have"}, map[string]any{"name": "want"}}
	if diff := cmp.Diff(want, spec["imagePullSecrets"]); diff != "" {
		t.Errorf("pull secrets (-want +got):\n%s", diff)
	}
	want = []any{
		map[string]any{"ip": "10.0.0.1", "hostnames": []any{"a"}},
		map[string]any{"ip": "10.0.0.1", "hostnames": []any{"b"}},
		map[string]any{"ip": "10.0.0.2", "hostnames": []any{"c"}},
	}
	if diff := cmp.Diff(want, spec["hostAliases"]); diff != "" {
		t.Errorf("host aliases (-want +got):\n%s", diff)
	}
	if !d.JSONOnly {
		t.Error("an address that stands twice was not noticed")
	}
	if diff := cmp.Diff(map[string]any{"l": "v"}, got["metadata"].(map[string]any)["labels"]); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestExplainTellsEachStep(t *testing.T) {
	d := Decide(Request{
		Object: fromYAML(t, asking(`"inject.usher.dev/side": "false"`, "")), Namespace: "shop",
		NamespaceLabels: map[string]string{wellknown.LabelTemplates: "side"}, Templates: set(mustParse(t, "side", small, "")), Explain: true,
	})
	var got []string
	for _, s := range d.Steps {
		got = append(got, s.String())
	}
	want := []string{
		`annotation inject.usher.dev/side: "false"`,
		`label inject.usher.dev/templates of namespace shop: "side"`,
		"decided by: annotation inject.usher.dev/side refuses side",
		"decision about side: opted-out",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestReasonsAreExplained(t *testing.T) {
	for _, r := range reason.All() {
		if r.Explain() == "" {
			t.Errorf("%s is not explained", r)
		}
	}
	if !slices.IsSortedFunc([]reason.Reason{reason.Injected, reason.ConflictName}, func(a, b reason.Reason) int {
		if !a.Denies() && b.Denies() {
			return -1
		}
		return 1
	}) {
		t.Error("injected denies, or a conflict does not")
	}
}
