package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

const (
	envoyTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: envoy-initializer}
data:
  options: "native: always"
  config: |
    containers:
    - name: envoy
      image: envoy
      livenessProbe: {httpGet: {port: 9901}, failureThreshold: -1}
`
	plainTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: logs-initializer}
data:
  config: |
    containers:
    - name: logs
      image: logs
`
	jobAsking = `apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  template:
    metadata: {annotations: {inject.usher.dev/logs: "true"}}
    spec:
      restartPolicy: Never
      containers: [{name: a, image: 'a:1'}]
`
	soundPod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: 'a:1'}]}
`
	asking = `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {initializer.kubernetes.io/envoy: "true"}
spec:
  initContainers:
  - {name: setup, image: 'a:1', env: [{name: a=b}]}
  containers:
  - {name: web, image: 'a:1'}
`
)

// deployment returns one whose pods ask for the template logs.
func deployment(name, label string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  selector: {matchLabels: {` + label + `}}
  template:
    metadata: {labels: {` + label + `}, annotations: {inject.usher.dev/logs: "true"}}
    spec: {containers: [{name: web, image: 'a:1'}]}
`
}

// found runs a check and returns its findings in short form: place, rule and
// message; along with the exit status and the other output.
func found(t *testing.T, args ...string) (findings []string, status int, errs string) {
	t.Helper()
	status, out, errs := command("", append([]string{"check", "-o", "json"}, args...)...)
	var result struct {
		Findings []struct {
			File, Rule, Message, FieldPath string
			Line, Column                   int
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	for _, f := range result.Findings {
		at := fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
		findings = append(findings, at+" "+f.Rule+" "+f.FieldPath+": "+f.Message)
	}
	return findings, status, errs
}

func TestWorkloadsAreJudgedAsInjected(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		args   []string
		want   []string
		status int
		errs   string
	}{
		"what a template added is found at its nearest parent, and names the template": {
			files: map[string]string{"pod.yaml": asking, "t/envoy.yaml": envoyTemplate},
			args:  []string{"-t", "t", "--rule", "container-probes,container-env", "pod.yaml"},
			want: []string{
				"pod.yaml:7:3 container-probes spec.initContainers: livenessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0 (container envoy, added by the template envoy)",
				`pod.yaml:8:40 container-env spec.initContainers[0].env[0].name: spec.initContainers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
			},
			status: cli.Failed,
		},
		"templates among the input are injected as well": {
			files:  map[string]string{"all.yaml": asking + "---\n" + envoyTemplate},
			args:   []string{"--rule", "container-probes", "all.yaml"},
			want:   []string{"all.yaml:7:3 container-probes spec.initContainers: livenessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0 (container envoy, added by the template envoy)"},
			status: cli.Failed,
		},
		"what injection brings about in the user's own is said to be so": {
			files: map[string]string{"job.yaml": strings.NewReplacer("      restartPolicy: Never\n", "", "image: 'a:1'", "image: vector:1").Replace(jobAsking), "t.yaml": plainTemplate},
			args:  []string{"-t", "t.yaml", "--rule", "job-plain-sidecar", "job.yaml"},
			want: []string{"job.yaml:8:20 job-plain-sidecar spec.template.spec.containers[0]: container a runs vector, which does not end, so the Job never completes: " +
				"move it to initContainers with restartPolicy: Always (after the injection of logs)"},
		},
		"what injection cures is not a finding": {
			files: map[string]string{"a.yaml": deployment("a", "app: a"), "t.yaml": plainTemplate + "      readinessProbe: {exec: {command: [ok]}}\n"},
			args:  []string{"-t", "t.yaml", "--rule", "deploy-no-readiness", "a.yaml"},
		},
		"what is denied is a finding at the field that is in the way": {
			files: map[string]string{"pod.yaml": strings.ReplaceAll(asking, "name: web, image", "name: envoy, image"), "t.yaml": envoyTemplate},
			args:  []string{"-t", "t.yaml", "--rule", "inject-conflict-container", "pod.yaml"},
			want: []string{`pod.yaml:10:6 inject-conflict-container spec.containers[0].name: ` +
				`the container "envoy" of template envoy (containers) has the name of one of the pod's containers; rename one of them`},
			status: cli.Failed,
		},
		"a value that is not a boolean is a finding, whether or not there are templates": {
			files:  map[string]string{"pod.yaml": strings.ReplaceAll(asking, `"true"`, `"yes"`)},
			args:   []string{"--rule", "inject-bad-value", "pod.yaml"},
			want:   []string{`pod.yaml:5:17 inject-bad-value metadata.annotations[initializer.kubernetes.io/envoy]: initializer.kubernetes.io/envoy is "yes"; write "true" or "false"`},
			status: cli.Failed,
		},
		"a template that is not among those given is a finding at the annotation": {
			files: map[string]string{"job.yaml": strings.ReplaceAll(jobAsking, "/logs", "/lost"), "t.yaml": plainTemplate},
			args:  []string{"-t", "t.yaml", "--rule", "inject-template-missing", "job.yaml"},
			want: []string{`job.yaml:6:30 inject-template-missing spec.template.metadata.annotations[inject.usher.dev/lost]: ` +
				`annotation inject.usher.dev/lost asks for the template "lost", which does not exist; did you mean logs? (usher read only the given templates)`},
			status: cli.Failed,
		},
		"asking is not a finding where no template was given, and is said": {
			files: map[string]string{"job.yaml": jobAsking},
			args:  []string{"job.yaml"},
			errs:  "although -t was not given: 1;",
		},
		"a namespace's label asks, too": {
			files: map[string]string{"pod.yaml": strings.ReplaceAll(soundPod, "name: web", "name: logs"), "t.yaml": plainTemplate},
			args:  []string{"-t", "t.yaml", "--namespace-labels", "inject.usher.dev/templates=logs", "--rule", "inject-conflict-container", "pod.yaml"},
			want: []string{`pod.yaml:4:22 inject-conflict-container spec.containers[0].name: ` +
				`the container "logs" of template logs (containers) has the name of one of the pod's containers; rename one of them`},
			status: cli.Failed,
		},
		"warnings of injection are baseline findings": {
			files: map[string]string{"job.yaml": strings.Replace(jobAsking, "metadata: {name: report}", `metadata: {name: report, annotations: {inject.usher.dev/more: "false"}}`, 1), "t.yaml": plainTemplate},
			args:  []string{"-t", "t.yaml", "--rule", "inject-warning", "job.yaml"},
			want: []string{`job.yaml:1:1 inject-warning : annotation inject.usher.dev/more is on the workload's own metadata, which pods do not inherit; it was ` +
				`copied to spec.template.metadata.annotations: write it there`},
		},
		"a template that was given is proved, too": {
			files:  map[string]string{"pod.yaml": soundPod, "t.yaml": strings.Replace(plainTemplate, "image:", "imagee:", 1)},
			args:   []string{"-t", "t.yaml", "--rule", "template-invalid", "pod.yaml"},
			want:   []string{"t.yaml:8:7 template-invalid data.config.containers[0].imagee: imagee is not a field of this object; did you mean image?"},
			status: cli.Failed,
		},
		"what a template that was given changes is not told": {
			files: map[string]string{"pod.yaml": soundPod, "t.yaml": plainTemplate},
			args:  []string{"-t", "t.yaml", "--rule", "template-effect", "pod.yaml"},
		},
		"what is not a template is bad input": {
			files:  map[string]string{"job.yaml": soundJob, "t.yaml": soundJob},
			args:   []string{"-t", "t.yaml", "job.yaml"},
			status: cli.Usage,
			errs:   "t.yaml:1: job/sound is not a template: write a ConfigMap named <template>-initializer",
		},
		"a template given twice is bad input": {
			files:  map[string]string{"job.yaml": soundJob, "t/a.yaml": plainTemplate, "t/b.yaml": plainTemplate},
			args:   []string{"-t", "t", "--level", "invariant", "job.yaml"},
			status: cli.Usage,
			errs:   `t/b.yaml:1: the template "logs" is given twice, first in t/a.yaml:1`,
		},
		"variants of a template among the files are not mistakes, and one given goes before them": {
			files:  map[string]string{"in/a.yaml": plainTemplate, "in/pod.yaml": asking, "in/z.yaml": envoyTemplate, "t.yaml": strings.ReplaceAll(envoyTemplate, "-1", "1")},
			args:   []string{"-t", "t.yaml,in/a.yaml", "--rule", "container-probes", "in"},
			status: cli.Clean,
			errs:   "the template envoy is in t.yaml:1 and in/z.yaml:1: the first is injected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, maps.Clone(c.files))
			got, status, errs := found(t, c.args...)
			if diff := cmp.Diff(c.want, got); diff != "" || status != c.status || !strings.Contains(errs, c.errs) {
				t.Errorf("status %d, stderr %s, findings (-want +got):\n%s", status, errs, diff)
			}
		})
	}
}
