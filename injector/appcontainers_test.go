package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/injector/template"
)

// logs gives the pod's own containers an item in each list.
const logs = `
containers: [{name: logs, image: l, volumeMounts: [{name: logs, mountPath: /logs}]}]
volumes: [{name: logs, emptyDir: {}}]
appContainers:
  env: [{name: LOG_DIR, value: /logs}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  envFrom: [{configMapRef: {name: logs}}, {secretRef: {name: logs}, prefix: L_}]
  volumeMounts: [{name: logs, mountPath: /logs/}]
`

func TestAppContainers(t *testing.T) {
	const asks = `"inject.usher.dev/logs": "true"`
	tests := map[string]struct {
		annotations, spec string
		kind              string
		want              reason.Reason
		message           string
		patch             []string // operations on the pod's own containers
	}{
		"every container of the pod's own": {
			spec: "containers: [{name: a}, {name: b, env: [{name: X, value: x}]}], initContainers: [{name: i}]", want: reason.Injected,
			patch: []string{
				`add /spec/containers/0/env [{"name":"LOG_DIR","value":"/logs"}]`,
				`add /spec/containers/0/env/- {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}`,
				`add /spec/containers/0/envFrom [{"configMapRef":{"name":"logs"}}]`,
				`add /spec/containers/0/envFrom/1 {"prefix":"L_","secretRef":{"name":"logs"}}`,
				`add /spec/containers/0/volumeMounts [{"mountPath":"/logs/","name":"logs"}]`,
				`add /spec/containers/1/env/- {"name":"LOG_DIR","value":"/logs"}`,
				`add /spec/containers/1/env/- {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}`,
				`add /spec/containers/1/envFrom [{"configMapRef":{"name":"logs"}}]`,
				`add /spec/containers/1/envFrom/1 {"prefix":"L_","secretRef":{"name":"logs"}}`,
				`add /spec/containers/1/volumeMounts [{"mountPath":"/logs/","name":"logs"}]`,
			},
		},
		"those that the annotation names, init containers too": {
			annotations: `, "inject.usher.dev/logs.containers": "b, i"`, want: reason.Injected,
			spec: "restartPolicy: Never, containers: [{name: a}, {name: b, env: [{name: LOG_DIR, value: /logs}], envFrom: [{secretRef: {name: logs}, prefix: L_}]}], initContainers: [{name: i, envFrom: [{secretRef: {name: mine}}]}]",
			patch: []string{
				`add /spec/containers/1/env/- {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}`,
				`add /spec/containers/1/envFrom/0 {"configMapRef":{"name":"logs"}}`,
				`add /spec/containers/1/volumeMounts [{"mountPath":"/logs/","name":"logs"}]`,
				`add /spec/initContainers/1/env [{"name":"LOG_DIR","value":"/logs"}]`,
				`add /spec/initContainers/1/env/- {"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}`,
				`add /spec/initContainers/1/envFrom/0 {"configMapRef":{"name":"logs"}}`,
				`add /spec/initContainers/1/envFrom/1 {"prefix":"L_","secretRef":{"name":"logs"}}`,
				`add /spec/initContainers/1/volumeMounts [{"mountPath":"/logs/","name":"logs"}]`,
			},
		},
		"what is there in the same way is shared": {
			spec: `containers: [{name: a, env: [{name: LOG_DIR, value: "no"}, {name: LOG_DIR, value: /logs}, {name: NODE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}],
				envFrom: [{configMapRef: {name: logs}}, {secretRef: {name: logs}, prefix: L_}], volumeMounts: [{name: logs, mountPath: /logs}]}]`,
			want: reason.Injected,
		},
		"a variable with another value is a conflict": {
			spec: "containers: [{name: a}, {name: b, env: [{name: X}, {name: LOG_DIR, value: /other}]}]", want: reason.ConflictEnv,
			message: `spec.containers[1].env[1]: the pod gives the container "b" another variable "LOG_DIR" than template logs; give both the same value, or name the containers that get it with inject.usher.dev/logs.containers`,
		},
		"the last of two values counts": {
			spec: "containers: [{name: a, env: [{name: LOG_DIR, value: /logs}, {name: LOG_DIR, value: /other}]}]", want: reason.ConflictEnv, message: "spec.containers[0].env[1]",
		},
		"a variable with a field that this build does not know is another one": {
			spec: "containers: [{name: a, env: [{name: LOG_DIR, value: /logs, later: 1}]}]", want: reason.ConflictEnv,
		},
		"a path of another mount is a conflict": {
			spec: "containers: [{name: a, volumeMounts: [{name: logs, mountPath: /logs, readOnly: true}]}]", want: reason.ConflictMount,
			message: `spec.containers[0].volumeMounts[0]: the pod gives the container "a" another mount at "/logs" than template logs`,
		},
		"a workload's conflict is in its pod template": {
			kind: "Deployment", spec: "containers: [{name: a, env: [{name: NODE, value: n}]}]", want: reason.ConflictEnv,
			message: "spec.template.spec.containers[0].env[0]",
		},
		"a container that is not there": {
			annotations: `, "inject.usher.dev/logs.containers": "a,c"`, spec: "containers: [{name: a}]", want: reason.BadValue,
			message: `metadata.annotations[inject.usher.dev/logs.containers]: names the container "c"; the pod's own are a`,
		},
		"containers named to a template that has nothing for them": {
			annotations: `, "inject.usher.dev/side": "true", "inject.usher.dev/side.containers": "a"`, spec: "containers: [{name: a}]", want: reason.BadValue,
			message: "has no appContainers",
		},
		"the containers of other templates are not the pod's own": {
			annotations: `, "usher.dev/injected": '{"gone":{"containers":["old"]}}'`,
			spec:        "containers: [{name: a, env: [{name: LOG_DIR, value: /logs}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}], envFrom: [{configMapRef: {name: logs}}, {secretRef: {name: logs}, prefix: L_}], volumeMounts: [{name: logs, mountPath: /logs/}]}, {name: old}]",
			want:        reason.Injected,
		},
	}
	templates := set(mustParse(t, "logs", logs, ""), mustParse(t, "side", small, ""))
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := "{metadata: {annotations: {" + asks + tc.annotations + "}}, spec: {" + tc.spec + "}}"
			if tc.kind != "" {
				object = "{spec: {template: " + object + "}}"
			}
			d := Decide(Request{Object: fromYAML(t, object), Kind: tc.kind, Templates: templates, NativeSidecars: true})
			if d.Reason != tc.want || !strings.Contains(d.Message(), tc.message) {
				t.Fatalf("got %s: %s\nwant %s: %s", d.Reason, d.Message(), tc.want, tc.message)
			}
			var got []string
			for _, op := range d.Patch {
				if strings.Contains(op.Path, "ontainers/") && !strings.HasSuffix(op.Path, "ontainers/-") && !strings.HasSuffix(op.Path, "/initContainers/0") {
					got = append(got, op.Op+" "+op.Path+" "+string(op.Value))
				}
			}
			if diff := cmp.Diff(tc.patch, got); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// Two templates set one variable of the pod's containers to different values.
func TestAppContainersOfTwoTemplates(t *testing.T) {
	app := func(value string) string { return "appContainers: {env: [{name: A, value: " + value + "}]}" }
	object := fromYAML(t, asking(`"inject.usher.dev/x": "true", "inject.usher.dev/y": "true"`, ""))
	same := Decide(Request{Object: object, Templates: set(mustParse(t, "x", app("a"), ""), mustParse(t, "y", app("a"), ""))})
	if same.Denied || len(same.Patch) != 2 {
		t.Errorf("%s (%s): %s", same.Reason, same.Message(), same.Patch.JSON())
	}
	other := Decide(Request{Object: object, Templates: set(mustParse(t, "x", app("a"), ""), mustParse(t, "y", app("b"), ""))})
	if other.Reason != reason.ConflictEnv || !strings.Contains(other.Message(), `template x gives the container "app" another variable "A" than template y`) {
		t.Errorf("%s: %s", other.Reason, other.Message())
	}
}

// The record names what the containers got, and a second pass relies on it,
// whatever another webhook has added since.
func TestAppContainersAreRecorded(t *testing.T) {
	r := Request{Object: fromYAML(t, asking(`"inject.usher.dev/logs": "true"`, "containers: [{name: app, env: [{name: LOG_DIR, value: /logs}]}]")), Templates: set(mustParse(t, "logs", logs, ""))}
	d := Decide(r)
	after := apply(t, r, d)
	want := map[string]AppItems{"app": {Env: []string{"NODE"}, EnvFrom: []string{"configMapRef/logs", "secretRef/logs (L_)"}, VolumeMounts: []string{"/logs"}}}
	if diff := cmp.Diff(want, recorded(t, after)["logs"].AppContainers); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	r.Object = []byte(strings.Replace(string(after), `"containers":[`, `"containers":[{"name":"another"},`, 1))
	if d := Decide(r); d.Reason != reason.AlreadyInjected || len(d.Patch) > 0 {
		t.Errorf("with a container more: %s (%s) %s", d.Reason, d.Message(), d.Patch.JSON())
	}
}

func recorded(t *testing.T, pod []byte) Record {
	t.Helper()
	p, problem := podjson.Decode(pod)
	if problem != nil {
		t.Fatal(problem)
	}
	record, problem := ParseRecord(p.Annotations())
	if problem != nil {
		t.Fatal(problem)
	}
	return record
}

func TestAppContainersAreChecked(t *testing.T) {
	tests := map[string]struct{ config, problem string }{
		"alone are enough":   {config: "appContainers: {env: [{name: A, value: a}]}"},
		"a variable twice":   {"appContainers: {env: [{name: A}, {name: A}]}", `data.config.appContainers.env[1].name (line 1): is "A", which env[0] has`},
		"no name":            {"appContainers: {env: [{value: a}]}", "data.config.appContainers.env[0].name (line 1): is missing"},
		"a name with =":      {"appContainers: {env: [{name: A=B}]}", `data.config.appContainers.env[0].name (line 1): is "A=B"`},
		"a source of no one": {"appContainers: {envFrom: [{prefix: A}]}", "data.config.appContainers.envFrom[0] (line 1): must have one of configMapRef and secretRef"},
		"a volume not there": {"appContainers: {volumeMounts: [{name: v, mountPath: /a}]}", `data.config.appContainers.volumeMounts[0].name (line 1): is "v", and the template has no volume of that name`},
		"a path twice":       {"volumes: [{name: v}]\nappContainers: {volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a/}]}", `data.config.appContainers.volumeMounts[1].mountPath (line 2): is "/a/", which volumeMounts[0] has`},
		"a field unknown":    {"appContainers: {image: a}", "data.config.appContainers.image"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := template.Parse("t", map[string]string{template.ConfigKey: tc.config})
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %s", err, tc.problem)
			}
		})
	}
}
