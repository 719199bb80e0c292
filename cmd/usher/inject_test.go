package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// usher runs the command line like main.
func usher(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, streams{strings.NewReader(stdin), &out, &errs})
	return status, out.String(), errs.String()
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	seedPod      = "../../injector/testdata/myapp-pod.yaml"
	seedTemplate = "../../deploy/templates/envoy.yaml"

	sideTemplate = "{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: 'containers: [{name: side, image: s}]'}}"
	askingPod    = `{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {inject.usher.dev/side: "true"}}, spec: {containers: [{name: app, image: a}]}}`
)

// parameterTemplate takes values from the pod and its namespace.
const parameterTemplate = `{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {
  options: 'parameters: [{name: zone, maxLength: 9, default: a, from: [{namespaceAnnotation: example.com/zone}]}, {name: port, type: int, default: 80, from: [{annotation: example.com/port}]}]',
  config: 'containers: [{name: side, image: s, args: ["--zone=${param.zone}", "--port=${param.port}"]}]'}}`

// matchedPod does not ask for a template; matchingTemplate selects it.
const (
	matchedPod       = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}}, spec: {containers: [{name: app, image: a}]}}"
	matchingTemplate = "{apiVersion: v1, kind: ConfigMap, metadata: {name: side-initializer}, data: {config: 'containers: [{name: side, image: s}]', options: 'match: {podSelector: {matchLabels: {app: a}}}'}}"
)

const (
	aNetwork     = "{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: net}, spec: {cidr: 192.168.0.0/16}}"
	declaringPod = "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {samplecrd.k8s.io/network: net}}, spec: {containers: [{name: app, image: a}]}}"
)

func TestInject(t *testing.T) {
	tests := map[string]struct {
		stdin          string
		args           []string
		status         int
		stdout, stderr []string // parts
		without        string   // must be missing from stdout
	}{
		"the seed's pod": {
			args:   []string{"-f", seedPod, "-t", seedTemplate},
			stdout: []string{"name: myapp-container", "image: lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1", "name: envoy-conf"},
			stderr: []string{"myapp-pod.yaml:1: pod/myapp-pod: envoy: injected (annotation initializer.kubernetes.io/envoy)"},
		},
		"as a JSON Patch": {
			args: []string{"-f", seedPod, "-t", seedTemplate, "-o", "patch"}, stdout: []string{`[{"op":"add","path":"/metadata/annotations/usher.dev~1injected"`},
		},
		"as a strategic merge patch": {
			args: []string{"-f", seedPod, "-t", seedTemplate, "-o", "strategic-patch"}, stdout: []string{`"$setElementOrder/containers":[{"name":"myapp-container"},{"name":"envoy"}]`},
		},
		"numbers as YAML has them": {
			stdin:  strings.Replace(askingPod, "spec: {", "extra: {a: 1.10, b: 12345678901234567890123, c: 0644, d: 1_000, e: 5, f: '0644', g: on}, spec: {", 1),
			args:   []string{"-f", "-", "-t", writeFile(t, "t.yaml", sideTemplate)},
			stdout: []string{"  a: 1.10\n", "  b: 12345678901234567890123\n", "  c: 0644\n", "  d: 1_000\n", "  e: 5\n", "  f: \"0644\"\n", "  g: true\n", "name: side"},
		},
		"numbers as JSON has them": {
			stdin: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"inject.usher.dev/side":"true"}},"spec":{"containers":[{"name":"app","image":"a","x":1.10,"z":12345678901234567890123}]}}`,
			args:  []string{"-f", "-", "-t", writeFile(t, "t.yaml", sideTemplate)}, stdout: []string{"x: 1.10\n", "z: 12345678901234567890123\n", "name: side"},
		},
		"numbers as YAML has them, in JSON": {
			stdin:  strings.Replace(askingPod, "spec: {", "extra: {a: 1.10, b: 12345678901234567890123, c: 0644, d: 1_000, e: 5, f: '0644', g: 1.0}, spec: {", 1),
			args:   []string{"-f", "-", "-o", "json", "-t", writeFile(t, "t.yaml", sideTemplate)},
			stdout: []string{`"a": 1.10,`, `"b": 12345678901234567890123,`, `"c": 420,`, `"d": 1000,`, `"e": 5,`, `"f": "0644",`, `"g": 1.0`, `"name": "side"`},
		},
		"numbers of items that move, in JSON": {
			stdin: `{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {inject.usher.dev/side: "true"}}, spec: {
  restartPolicy: Never, initContainers: [{name: i, image: i, x: 1.10}, {name: j, image: j, x: 2.0}], containers: [{name: app, image: a}]}}`,
			args: []string{"-f", "-", "-o", "json", "-t", writeFile(t, "t.yaml", sideTemplate)}, stdout: []string{`"x": 1.10`, `"x": 2.0`},
		},
		"a merged field that is overridden": {
			stdin: `
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {inject.usher.dev/side: "true"}}
spec:
  containers:
  - &c {name: app, image: app}
  - <<: *c
    name: web
`,
			args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", sideTemplate)}, stdout: []string{"- image: app\n    name: app\n  - image: app\n    name: web\n"},
		},
		"parameters": {
			stdin: "{apiVersion: v1, kind: Namespace, metadata: {name: team, annotations: {example.com/zone: b}}}\n---\n" + strings.NewReplacer("name: p,", "name: p, namespace: team,", `"true"`, `"true", example.com/port: "9"`).Replace(askingPod),
			args:  []string{"-f", "-", "-t", writeFile(t, "t.yaml", parameterTemplate)}, stdout: []string{"- --zone=b\n    - --port=9\n", `"parameters":{"port":"9","zone":"b"}`},
		},
		"a bad value of a parameter": {
			stdin: strings.Replace(askingPod, `"true"`, `"true", example.com/port: http`, 1),
			args:  []string{"-f", "-", "-t", writeFile(t, "t.yaml", parameterTemplate)}, status: 1,
			stderr: []string{`metadata.annotations[example.com/port]: is "http"; write a whole number (the parameter port of the template side)`},
		},
		"numbers of items that move": {
			stdin: `{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {inject.usher.dev/side: "true"}}, spec: {
  restartPolicy: Never, initContainers: [{name: i, image: i, x: 1.10}, {name: j, image: j, x: 2.0}], containers: [{name: app, image: a}]}}]}`,
			args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", sideTemplate)}, stdout: []string{"restartPolicy: Always\n  - image: i\n    name: i\n    x: 1.10\n  - image: j\n    name: j\n    x: 2.0\n"},
		},
		"as text": {
			args: []string{"-f", seedPod, "-t", seedTemplate, "-o", "text"}, stdout: []string{"pod/myapp-pod: allowed, injected", "+ /spec/containers/-"},
		},
		"a ConfigMap of another namespace is not a template": {
			stdin:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: db-initializer, namespace: shop}, data: {sql: 'SELECT 1'}}",
			args:   []string{"-f", "-"},
			stdout: []string{"name: db-initializer"},
		},
		"templates among the input": {
			stdin: sideTemplate + "\n---\n" + askingPod, args: []string{"-f", "-"},
			stdout: []string{"name: side-initializer", "name: side\n"},
		},
		"JSON keeps what this build does not know, literals too": {
			stdin: `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"inject.usher.dev/side":"true"}},"spec":{"containers":[{"name":"a","image":"a"}],"later":{"x":1.50,"y":12345678901234567890}}}`,
			args:  []string{"-f", "-", "-o", "json", "-t", writeFile(t, "t.yaml", sideTemplate)}, stdout: []string{`"x": 1.50`, `"y": 12345678901234567890`, `"name": "side"`},
		},
		"a List, a Deployment that asks on its own metadata, and what holds no pods": {
			stdin: sideTemplate + "\n---\n" + `{apiVersion: v1, kind: List, items: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {inject.usher.dev/side: "true"}}, spec: {template: {spec: {containers: [{name: app, image: a}]}}}}, {apiVersion: v1, kind: Service, metadata: {name: s}}]}`,
			args:  []string{"-f", "-"}, stdout: []string{"usher.dev/carried: inject.usher.dev/side", "      - image: s\n        name: side", "kind: Service"},
			stderr: []string{"deployment/d: warning: annotation inject.usher.dev/side is on the workload's own metadata"},
		},
		"a Job of another API group is none of ours": {
			stdin: `{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j}, spec: {tasks: []}}`, args: []string{"-f", "-"}, stdout: []string{"tasks: []"},
		},
		"namespaces among the input ask": {
			stdin: sideTemplate + "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {inject.usher.dev/templates: side}}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: [{name: app, image: a}]}}",
			args:  []string{"-f", "-"}, stdout: []string{"- image: s\n    name: side"},
		},
		"labels given for every namespace ask": {
			stdin: sideTemplate + "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: app, image: a}]}}",
			args:  []string{"-f", "-", "--namespace-labels", "inject.usher.dev/templates=side"}, stdout: []string{"- image: s\n    name: side"},
		},
		"what would be denied is left out, the rest stays": {
			stdin: sideTemplate + "\n---\n" + strings.Replace(askingPod, "name: app", "name: side", 1) + "\n---\n" + strings.Replace(askingPod, "name: p,", "name: good,", 1),
			args:  []string{"-f", "-"}, status: 1, stdout: []string{"name: good"}, without: "name: p\n",
			stderr: []string{"-:3: pod/p: denied: conflict-container: spec.containers[0].name: the container"},
		},
		"a template that is not given": {
			stdin: askingPod, args: []string{"-f", "-"}, status: 1, stderr: []string{"denied: template-missing"},
		},
		"a template that cannot be used": {
			stdin: strings.Replace(sideTemplate, "image: s", "imagee: s", 1) + "\n---\n" + askingPod, args: []string{"-f", "-"}, status: 2,
			stderr: []string{`-:1: configmap/side-initializer: denied: template-invalid: data.config.containers[0].imagee (line 1): is not a field of this object`, "denied: template-invalid"},
		},
		"without native sidecars a Job's pods are skipped": {
			stdin: sideTemplate + "\n---\n" + strings.Replace(askingPod, "spec: {", "spec: {restartPolicy: Never, ", 1), args: []string{"-f", "-", "--native-sidecars=false"},
			stderr: []string{"pod/p: warning: the template side was not injected (no-native-sidecars)"}, without: "name: side\n",
		},
		"a broken document": {
			stdin: "a: [\n---\n" + sideTemplate + "\n---\n" + askingPod, args: []string{"-f", "-"}, status: 2,
			stderr: []string{"-:1: YAML: a list or mapping is not complete: write a value, and close each [ and {"},
		},
		"a template in a file that is missing":      {stdin: askingPod, args: []string{"-f", "-", "-t", "none.yaml"}, status: 2, stderr: []string{"none.yaml: no such file"}},
		"a template in a file that is broken":       {stdin: matchedPod, args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", "a: [")}, status: 2, stderr: []string{"YAML"}},
		"a template in an empty file":               {stdin: matchedPod, args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", "# TODO\n")}, status: 2, stderr: []string{"the file contains no manifests"}},
		"a template in an empty folder":             {stdin: matchedPod, args: []string{"-f", "-", "-t", t.TempDir()}, status: 2, stderr: []string{"the folder contains no manifests"}},
		"one template that is missing of two":       {stdin: matchedPod, args: []string{"-f", "-", "-t", "none.yaml", "-t", writeFile(t, "t.yaml", sideTemplate)}, status: 2, stderr: []string{"none.yaml: no such file"}},
		"a given template with a misspelt field":    {stdin: matchedPod, args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", strings.Replace(matchingTemplate, "image: s", "imagee: s", 1))}, status: 2, stderr: []string{"template-invalid"}},
		"a given template with a misspelt option":   {stdin: matchedPod, args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", strings.Replace(matchingTemplate, "match:", "matches:", 1))}, status: 2, stderr: []string{"template-invalid"}},
		"a template of the input with a bad option": {stdin: strings.Replace(matchingTemplate, "match:", "matches:", 1) + "\n---\n" + matchedPod, args: []string{"-f", "-"}, status: 2, stderr: []string{"template-invalid"}},
		"a configuration that is missing":           {stdin: askingPod, args: []string{"-f", "-", "-t", writeFile(t, "t.yaml", sideTemplate), "--config", "none.yaml"}, status: 2, stderr: []string{"none.yaml"}},
		"a file that is missing next to a good one": {stdin: matchedPod, args: []string{"-f", "-", "-f", "none.yaml", "-t", writeFile(t, "t.yaml", matchingTemplate)}, status: 2, stderr: []string{"none.yaml: no such file"}},
		"a policy among the input that is not judged": {
			stdin: matchingTemplate + "\n---\n" + matchedPod + "\n---\n{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}}", args: []string{"-f", "-"},
			stdout: []string{"kind: ClusterPolicy", "name: side\n"}, stderr: []string{"usher does not evaluate these objects, which decide about others in a cluster: clusterpolicy/p\n"},
		},
		"a pod is attached to the Networks among the input": {
			stdin: aNetwork + "\n---\n" + strings.Replace(declaringPod, "network: net", "network: net, k8s.v1.cni.cncf.io/networks: x@e", 1), args: []string{"-f", "-"},
			stdout: []string{"k8s.v1.cni.cncf.io/networks: x@e,default/net"}, stderr: []string{"pod/p: net: network-attached (annotation samplecrd.k8s.io/network)"},
		},
		"a template and a Network": {
			stdin: aNetwork + "\n---\n" + sideTemplate + "\n---\n" + strings.Replace(declaringPod, "network: net", `network: net, inject.usher.dev/side: "true"`, 1), args: []string{"-f", "-"},
			stdout: []string{"k8s.v1.cni.cncf.io/networks: default/net", "name: side\n"}, stderr: []string{"side: injected", "net: network-attached"},
		},
		"a Network that is not given": {
			stdin: declaringPod, args: []string{"-f", "-"}, status: 1, without: "name: p",
			stderr: []string{`-:1: pod/p: denied: network-missing: metadata.annotations[samplecrd.k8s.io/network]: names the Network "net"`},
		},
		"a Network of another namespace": {
			stdin: strings.Replace(aNetwork, "name: net", "name: net, namespace: other", 1) + "\n---\n" + declaringPod, args: []string{"-f", "-"}, status: 1, stderr: []string{"network-missing"},
		},
		"a backend that attaches no pods": {
			stdin: aNetwork + "\n---\n" + declaringPod, status: 1, stderr: []string{"denied: network-backend"},
			args: []string{"-f", "-", "--config", writeFile(t, "c.yaml", "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, networks: {backend: neutron}}")},
		},
		"a Deployment declares its own Network": {
			stdin:  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {samplecrd.k8s.io/own-network: "true"}}, spec: {template: {spec: {containers: [{name: app, image: a}]}}}}`,
			args:   []string{"-f", "-", "-n", "shop"},
			stdout: []string{"samplecrd.k8s.io/network: web", "k8s.v1.cni.cncf.io/networks: shop/web"},
		},
		"a Deployment's own Network whose name is taken": {
			stdin: strings.Replace(aNetwork, "name: net", "name: web", 1) + "\n---\n" + `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {samplecrd.k8s.io/own-network: "true"}}, spec: {template: {spec: {containers: [{name: app, image: a}]}}}}`,
			args:  []string{"-f", "-"}, status: 1, stderr: []string{"denied: network-foreign"},
		},
		"a file that is not there": {args: []string{"-f", "none.yaml"}, status: 2, stderr: []string{"none.yaml: no such file or directory"}},
		"no file":                  {status: 2, stderr: []string{"name the files or folders to read, or pass - for standard input"}},
		"an unknown format":        {args: []string{"-f", "-", "-o", "xml"}, status: 2, stderr: []string{`--output is "xml"; write yaml, json, patch, strategic-patch or text`}},
		"something given as -t that is not a template": {
			stdin: askingPod, args: []string{"-f", "-", "-t", seedPod}, status: 2, stderr: []string{"pod/myapp-pod is not a template"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := usher(t, tc.stdin, append([]string{"inject"}, tc.args...)...)
			if status != tc.status {
				t.Errorf("exit status %d, want %d", status, tc.status)
			}
			for _, want := range tc.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout lacks %q:\n%s", want, stdout)
				}
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
			if status == 2 && stdout != "" {
				t.Errorf("exit status 2, and stdout has\n%s", stdout)
			}
			if tc.without != "" && strings.Contains(stdout, tc.without) {
				t.Errorf("stdout has %q:\n%s", tc.without, stdout)
			}
		})
	}
}

func TestInjectTwiceChangesNothing(t *testing.T) {
	_, once, _ := usher(t, "", "inject", "-f", seedPod, "-t", seedTemplate)
	status, twice, stderr := usher(t, once, "inject", "-f", "-", "-t", seedTemplate)
	if status != 0 || once != twice || !strings.Contains(stderr, "already-injected") {
		t.Errorf("exit status %d, %s\nonce\n%s\ntwice\n%s", status, stderr, once, twice)
	}
}
