package injector

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/injector/podjson/podjsontest"
)

// proxy is a template whose container pods customize.
const proxy = `
containers:
- name: proxy
  image: registry.example.com/proxy:1.2
  args: [serve]
  env: [{name: LEVEL, value: info}, {name: ZONE, value: a}]
  envFrom: [{configMapRef: {name: proxy}}]
  ports: [{containerPort: 15001, name: proxy}, {containerPort: 15090, name: metrics}]
  readinessProbe: {httpGet: {path: /ready, port: 15021}}
  lifecycle: {preStop: {exec: {command: [drain]}}}
  resources: {requests: {cpu: 100m, memory: 128Mi}}
  securityContext: {runAsUser: 1337, readOnlyRootFilesystem: true}
  volumeMounts: [{name: conf, mountPath: /etc/proxy}]
initContainers:
- {name: setup, image: "setup:3", args: [redirect]}
volumes: [{name: conf, emptyDir: {}}]
`

func TestAuto_CompletesTheContainerInItsPlace(t *testing.T) {
	own := `{name: proxy, image: auto, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, future: {a: 1.50},
  env: [{name: ZONE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: MINE, value: "$(LEVEL)"}], envFrom: [{secretRef: {name: mine}}],
  ports: [{containerPort: 8080, name: metrics}], readinessProbe: {exec: {command: [check]}}, lifecycle: {postStart: {exec: {command: [hello]}}},
  resources: {requests: {cpu: "2"}, limits: {memory: 1Gi}}, securityContext: {runAsUser: 7}, volumeMounts: [{name: mine, mountPath: /mine}, {name: mine, mountPath: /etc/proxy/}]}`
	want := `{name: proxy, image: "registry.example.com/proxy:1.2", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, future: {a: 1.50}, args: [serve],
  env: [{name: LEVEL, value: info}, {name: ZONE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: MINE, value: "$(LEVEL)"}], envFrom: [{configMapRef: {name: proxy}}, {secretRef: {name: mine}}],
  ports: [{containerPort: 15001, name: proxy}, {containerPort: 8080, name: metrics}], readinessProbe: {exec: {command: [check]}},
  lifecycle: {preStop: {exec: {command: [drain]}}, postStart: {exec: {command: [hello]}}},
  resources: {requests: {cpu: "2", memory: 128Mi}, limits: {memory: 1Gi}}, securityContext: {runAsUser: 7, readOnlyRootFilesystem: true},
  volumeMounts: [{name: mine, mountPath: /mine}, {name: mine, mountPath: /etc/proxy/}]}`
	native := strings.TrimSuffix(want, "}") + ", restartPolicy: Always}"
	tests := map[string]struct{ spec, options, want string }{
		"an ordinary container": {
			spec: "containers: [{name: app}, " + own + ", {name: last}]", options: "native: auto",
			want: "containers: [{name: app}, " + want + ", {name: last}], initContainers: [{name: setup, image: 'setup:3', args: [redirect]}]",
		},
		"a native sidecar that the pod wrote as an init container": {
			spec: "initContainers: [{name: early}, " + own + ", {name: late}], containers: [{name: app}]", options: "native: auto",
			want: "initContainers: [{name: early}, " + native + ", {name: late}, {name: setup, image: 'setup:3', args: [redirect]}], containers: [{name: app}]",
		},
		"a container that becomes a native sidecar moves": {
			spec: "initContainers: [{name: late}], containers: [{name: app}, " + own + ", {name: last}]", options: "native: preferred",
			want: "initContainers: [" + native + ", {name: late}, {name: setup, image: 'setup:3', args: [redirect]}], containers: [{name: app}, {name: last}]",
		},
		"a container moves into the block": {
			spec: "initContainers: [{name: late}], containers: [" + own + ", {name: app}]", options: "{native: preferred, place: first}",
			want: "initContainers: [{name: setup, image: 'setup:3', args: [redirect]}, " + native + ", {name: late}], containers: [{name: app}]",
		},
		"the only container of a gateway stays": {
			spec: "containers: [" + own + "]", options: "native: always",
			want: "initContainers: [{name: setup, image: 'setup:3', args: [redirect]}], containers: [" + want + "]",
		},
		"an init container behind a native sidecar that was added": {
			spec: "initContainers: [{name: setup, image: auto, args: [mine]}], containers: [{name: app}, {name: proxy, image: auto}]", options: "native: always",
			want: "initContainers: [{name: proxy, image: 'registry.example.com/proxy:1.2', args: [serve], env: [{name: LEVEL, value: info}, {name: ZONE, value: a}], envFrom: [{configMapRef: {name: proxy}}], " +
				"ports: [{containerPort: 15001, name: proxy}, {containerPort: 15090, name: metrics}], readinessProbe: {httpGet: {path: /ready, port: 15021}}, lifecycle: {preStop: {exec: {command: [drain]}}}, " +
				"resources: {requests: {cpu: 100m, memory: 128Mi}}, securityContext: {runAsUser: 1337, readOnlyRootFilesystem: true}, volumeMounts: [{name: conf, mountPath: /etc/proxy}], restartPolicy: Always}, " +
				"{name: setup, image: 'setup:3', args: [mine]}], containers: [{name: app}]",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := strings.Replace(string(fromYAML(t, asking(asks, tc.spec))), `"a":1.5`, `"a":1.50`, 1)
			r := Request{Object: []byte(object), NativeSidecars: true, Templates: set(mustParse(t, "side", proxy, tc.options))}
			d := Decide(r)
			if d.Denied || len(d.Warnings) > 0 {
				t.Fatalf("%s, warnings %q", d.Message(), d.Warnings)
			}
			r.Object = apply(t, r, d)
			var got struct{ Spec map[string]any }
			if err := json.Unmarshal(r.Object, &got); err != nil {
				t.Fatal(err)
			}
			delete(got.Spec, "volumes")
			var spec map[string]any
			if err := json.Unmarshal(fromYAML(t, "{"+tc.want+"}"), &spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spec, got.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(string(r.Object), "1.50") && strings.Contains(tc.spec, "1.50") {
				t.Error("the literal 1.50 is not as its author wrote it")
			}
			if d := Decide(r); d.Denied || len(d.Patch) > 0 || len(d.Warnings) > 0 {
				t.Errorf("the second pass says %s with the patch %s and the warnings %q", d.Message(), d.Patch.JSON(), d.Warnings)
			}
		})
	}
}

// Another webhook may rewrite the container after usher recorded it.
func TestAuto_ARecordDoesNotEndIt(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(asks, "containers: [{name: app}, {name: proxy, image: auto}]")), Templates: set(mustParse(t, "side", proxy, ""))}
	first := apply(t, r, Decide(r))
	r.Object = []byte(strings.Replace(string(first), "registry.example.com/proxy:1.2", "auto", 1))
	if second := apply(t, r, Decide(r)); podjsontest.Lost(podjsontest.Decode(t, first), podjsontest.Decode(t, second), "") != "" {
		t.Errorf("the second pass leaves %s, want %s", second, first)
	}
}

func TestAuto_Problems(t *testing.T) {
	tests := map[string]struct{ spec, options, want string }{
		"an init container among the containers": {
			spec: "containers: [{name: app}, {name: setup, image: auto}]",
			want: `spec.containers[1].image: is auto, and the template side cannot complete the container "setup" here: the template's container is an init container; write it in spec.initContainers`,
		},
		"an init container, and the template forbids native sidecars": {
			spec: "initContainers: [{name: proxy, image: auto}], containers: [{name: app}]", options: "native: never",
			want: `spec.initContainers[0].image: is auto, and the template side cannot complete the container "proxy" here: in this pod the template's container is not a native sidecar; write it in spec.containers`,
		},
		"a mandatory template": {
			spec: "containers: [{name: app}, {name: proxy, image: auto}]", options: "mandatory: true",
			want: `spec.containers[1].name: the container "proxy" of template side (containers) has the name of one of the pod's containers; rename one of them, or remove the pod's: a mandatory template does not complete it`,
		},
		"another template completed it": {
			spec: "containers: [{name: app}, {name: proxy, image: auto}]", options: "",
			want: "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Object: fromYAML(t, asking(asks, tc.spec)), NativeSidecars: true, Templates: set(mustParse(t, "side", proxy, tc.options))}
			d := Decide(r)
			if !strings.Contains(d.Message(), tc.want) || d.Denied != (tc.want != "") {
				t.Errorf("%s\nwant %s", d.Message(), tc.want)
			}
		})
	}
}

// Each container that moves leaves the indexes of the others as they were.
func TestAuto_SeveralContainersMove(t *testing.T) {
	r := Request{
		Object:    fromYAML(t, asking(asks, "containers: [{name: b, image: auto}, {name: app}, {name: a, image: auto}, {name: last}]")),
		Templates: set(mustParse(t, "side", "containers: [{name: a, image: a}, {name: b, image: b}]\nappContainers: {env: [{name: X, value: v}]}", "native: always")), NativeSidecars: true,
	}
	containers, init := placed(t, r)
	if diff := cmp.Diff([]string{"app", "last"}, containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, init); diff != "" {
		t.Errorf("init containers (-want +got):\n%s", diff)
	}
	if out := string(apply(t, r, Decide(r))); strings.Count(out, `"env":[{"name":"X","value":"v"}]`) != 2 {
		t.Errorf("%s, want the variable in both of the pod's own containers", out)
	}
}

// The second of two templates with one name of a container finds that of the first.
func TestAuto_OneTemplateCompletesIt(t *testing.T) {
	for _, native := range []bool{false, true} {
		r := Request{
			Object:    fromYAML(t, asking(asks+`, "inject.usher.dev/other": "true"`, "containers: [{name: app}, {name: proxy, image: auto}]")),
			Templates: set(mustParse(t, "side", proxy, "native: preferred"), mustParse(t, "other", "containers: [{name: proxy, image: other}]", "native: preferred")), NativeSidecars: native,
		}
		if d := Decide(r); !d.Denied || !strings.Contains(d.Message(), `"proxy" of template side (containers) has the name of one of template other`) {
			t.Errorf("native %t: %s, want a conflict of the two templates", native, d.Message())
		}
	}
}

// The host port of the container is not a conflict with itself.
func TestAuto_HostPorts(t *testing.T) {
	template := mustParse(t, "side", "containers: [{name: proxy, image: p, ports: [{containerPort: 80, hostPort: 80}]}]", "")
	for spec, denied := range map[string]bool{
		"containers: [{name: app}, {name: proxy, image: auto, ports: [{containerPort: 80, hostPort: 80}]}]":        false,
		"containers: [{name: app, ports: [{containerPort: 81, hostPort: 80}]}, {name: proxy, image: auto}]":        true,
		"hostNetwork: true, containers: [{name: app}, {name: proxy, image: auto, ports: [{containerPort: 9000}]}]": false,
	} {
		if d := Decide(Request{Object: fromYAML(t, asking(asks, spec)), Templates: set(template)}); d.Denied != denied {
			t.Errorf("%s: denied %t, %s", spec, d.Denied, d.Message())
		}
	}
}
