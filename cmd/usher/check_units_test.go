package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

const webChart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

// workload is a Deployment of that name whose pods have the label app.
func workload(name, app string) string {
	return strings.NewReplacer("NAME", name, "APP", app).Replace(`apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: APP}}
  template:
    metadata: {labels: {app: APP}}
    spec:
      containers:
      - {name: app, image: "registry.example/app:1", readinessProbe: {tcpSocket: {port: 80}}}
`)
}

func TestCheck_Units(t *testing.T) {
	wrong := strings.Replace(thing, "size: 1", "size: a", 1)
	for name, c := range map[string]struct {
		files  map[string]string
		args   []string
		status int
		// out is the whole standard output, and errs are parts of standard error.
		out  string
		errs []string
	}{
		"a kustomization does not hide a Job": {
			files: map[string]string{"app/kustomization.yaml": "resources: [job.yaml]\nnamePrefix: x-", "app/job.yaml": brokenJob, "good.yaml": soundJob}, status: cli.Failed,
			out:  "app/job.yaml:7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
			errs: []string{"2 objects "},
		},
		"two overlays of a base have one finding": {
			files:  map[string]string{"base/kustomization.yaml": "resources: [job.yaml]", "base/job.yaml": brokenJob, "a/kustomization.yaml": "resources: [../base]", "b/kustomization.yaml": "resources: [../base]"},
			status: cli.Failed,
			out:    "base/job.yaml:7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
		},
		"a finding in a template, by its line": {
			files:  map[string]string{"c/Chart.yaml": webChart, "c/templates/job.yaml": "{{- if true }}\n" + brokenJob + "{{- end }}\n"},
			status: cli.Failed, out: "c/templates/job.yaml:8:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
		},
		"values of the configuration, each a unit": {
			files: map[string]string{
				".usher.yaml":  "charts:\n- {path: c, values: [prod.yaml]}\n- {path: c, set: [restart=Never]}\n",
				"c/Chart.yaml": webChart, "prod.yaml": "restart: Always", "c/templates/job.yaml": strings.Replace(soundJob, "restartPolicy: Never", "restartPolicy: {{ .Values.restart }}", 1),
			},
			status: cli.Failed,
			out:    "c/templates/job.yaml:4:1: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
		},
		"values of flags": {
			files: map[string]string{"c/Chart.yaml": webChart, "c/templates/job.yaml": strings.Replace(soundJob, "restartPolicy: Never", "restartPolicy: {{ .Values.restart }}", 1)},
			args:  []string{"--set", "restart=Never"},
		},
		"a chart that does not render is named": {
			files: map[string]string{"c/Chart.yaml": webChart, "c/templates/a.yaml": "{{ fail \"no\" }}", "job.yaml": soundJob},
			errs:  []string{"chart c is not judged: rendering the chart: execution error at (web/templates/a.yaml:1:3): no; to see more, run helm template c\n", "\n1 unit not judged\n"},
		},
		"nothing but a chart that does not render": {
			files:  map[string]string{"c/Chart.yaml": webChart, "c/templates/a.yaml": "{{ fail \"no\" }}"},
			status: cli.Usage, errs: []string{"1 unit not judged\n", "the input has no objects to check; pass --allow-empty to accept that\n"},
		},
		"a chart that does not render fails a strict check": {
			files: map[string]string{"c/Chart.yaml": webChart, "c/templates/a.yaml": "{{ fail \"no\" }}", "job.yaml": soundJob},
			args:  []string{"--strict-input"}, status: cli.Failed,
		},
		"a template fails a check that the configuration makes strict": {
			files: map[string]string{".usher.yaml": "input: {strict: true}\n", "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ x }}, a", "job.yaml": soundJob}, status: cli.Failed,
			errs: []string{"\n1 unit not judged; 1 file is a template that a tool has to render: a.yaml\n"},
		},
		"a value of envsubst where the server wants another type": {
			files: map[string]string{"web.yaml": strings.Replace(workload("web", "web"), "replicas: 1", "replicas: ${REPLICAS}", 1), "job.yaml": soundJob},
			errs:  []string{"\n1 unit not judged; 1 file is a template that a tool has to render: web.yaml\n"},
		},
		"a patch that no kustomization uses": {
			files: map[string]string{"k/kustomization.yaml": "namePrefix: a-", "k/patches/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n", "job.yaml": soundJob},
			errs:  []string{"\n1 unit not judged; 1 file looks like a patch: k/patches/web.yaml\n"},
		},
		"an incomplete object elsewhere is not a patch": {
			files: map[string]string{"web.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n"}, status: cli.Failed,
			out: "web.yaml:4:1: invariant: spec.containers: Required value (pod-containers)\n",
		},
		"definitions in a chart that does not render": {
			files: map[string]string{"c/Chart.yaml": webChart, "c/templates/a.yaml": "{{ fail \"no\" }}", "c/crds/thing.yaml": thingDefinition("integer"), "thing.yaml": wrong}, status: cli.Failed,
			out: "thing.yaml:4:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
		},
		"each folder has the variant of a definition that it has": {
			files: map[string]string{"a/crd.yaml": thingDefinition("integer"), "a/thing.yaml": thing, "b/crd.yaml": thingDefinition("string"), "b/thing.yaml": wrong, "c/thing.yaml": wrong}, status: cli.Failed,
			out:  "c/thing.yaml:4:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
			errs: []string{"CustomResourceDefinitions that differ from an earlier one of their name, and serve only their own chart, kustomization or folder: 1: things.example.com in b/crd.yaml:1 (first in a/crd.yaml:1)\n"},
		},
		"what tests define is for them": {
			files: map[string]string{"pkg/testdata/crd.yaml": thingDefinition("integer"), "pkg/testdata/thing.yaml": wrong, "thing.yaml": wrong, "job.yaml": soundJob}, status: cli.Failed,
			out:  "pkg/testdata/thing.yaml:4:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
			errs: []string{"1 skipped: example.com/v1 Thing: neither built in nor defined"},
		},
		"tests know what is defined for all": {
			files: map[string]string{"crd.yaml": thingDefinition("integer"), "test/thing.yaml": wrong}, status: cli.Failed,
			out: "test/thing.yaml:4:8: invariant: Invalid value: \"string\": spec.size in body must be of type integer: \"string\" (refused-by-server)\n",
		},
		"a version that the definition does not serve": {
			files: map[string]string{"crd.yaml": thingDefinition("integer"), "thing.yaml": strings.Replace(thing, "/v1", "/v1beta1", 1)}, status: cli.Failed,
			out: "thing.yaml:1:1: invariant: the CustomResourceDefinition things.example.com does not serve the version v1beta1: write apiVersion: example.com/v1 (unserved-kind)\n",
		},
		"a version that the definition calls deprecated": {
			files: map[string]string{"crd.yaml": strings.Replace(thingDefinition("integer"), "  - name: v1\n    served: true\n", "  - name: v1beta1\n    served: true\n    storage: false\n    deprecated: true\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n  - name: v1\n    served: true\n", 1), "thing.yaml": strings.Replace(thing, "/v1", "/v1beta1", 1)},
			out:   "thing.yaml:1:1: baseline: example.com/v1beta1 Thing is deprecated; use example.com/v1 Thing (warned-by-server)\n",
		},
		"selectors are compared within a folder": {
			files: map[string]string{"a/web.yaml": workload("web", "x"), "b/api.yaml": workload("api", "x"), "c/one.yaml": workload("one", "z") + "---\n" + workload("two", "z")},
			out: "c/one.yaml:6:3: baseline: selector is app=z, which matches the pods of Deployment two too: add a label of its own (selector-overlap)\n" +
				"c/one.yaml:18:3: baseline: selector is app=z, which matches the pods of Deployment one too: add a label of its own (selector-overlap)\n",
		},
		"alternatives in one folder are not what another selects": {
			files: map[string]string{"api.yaml": workload("api", "x"), "web.yaml": workload("web", "x"), "web-2.yaml": workload("web", "x")},
			out: "web-2.yaml:6:3: baseline: selector is app=x, which matches the pods of Deployment api too: add a label of its own (selector-overlap)\n" +
				"web.yaml:6:3: baseline: selector is app=x, which matches the pods of Deployment api too: add a label of its own (selector-overlap)\n",
		},
		"what the webhook of an operator sets": {
			files: map[string]string{
				"crd.yaml": strings.Replace(thingDefinition("integer"), "spec: {type: object,", "spec: {type: object, required: [size],", 1), "thing.yaml": strings.Replace(thing, "size: 1", "", 1),
				"webhook.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: webhook.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: 'https://a.example.com'}}]\n",
			},
			errs: []string{"required fields of custom resources that they lack, and that the webhook of their operator, which is in the input, may set: 1\n"},
		},
		"a group that is nobody's": {
			files: map[string]string{"skaffold.yaml": "apiVersion: skaffold/v2beta29\nkind: Config\n", "job.yaml": soundJob},
			errs:  []string{"1 skipped: skaffold/v2beta29 Config: neither built in nor defined"},
		},
		"a group that was meant to be the server's": {
			files: map[string]string{"web.yaml": strings.Replace(workload("web", "x"), "apps/v1", "app/v1", 1)}, status: cli.Failed,
			out: "web.yaml:1:1: invariant: Kubernetes 1.37 serves no Deployment in app/v1: write apiVersion: apps/v1 and kind: Deployment (unserved-kind)\n",
		},
		"one wrong value does not hide wrong names": {
			files: map[string]string{"web.yaml": strings.NewReplacer("replicas: 1", "replica: 1", "name: app,", "name: app, port: 1, env: [{name: A, value: 1}],").Replace(workload("web", "x"))}, status: cli.Failed,
			out: "web.yaml:5:3: invariant: unknown field \"spec.replica\": did you mean replicas? (unknown-field)\n" +
				"web.yaml:11:21: invariant: unknown field \"spec.template.spec.containers[0].port\": did you mean ports? (unknown-field)\n" +
				"web.yaml:11:46: invariant: value is a number: write a string (quote it) (undecodable-object)\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, c.files)
			status, out, errs := command("", append(append([]string{"check"}, c.args...), ".")...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if diff := cmp.Diff(c.out, out); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			for _, want := range c.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("standard error lacks %q:\n%s", want, errs)
				}
			}
		})
	}
}

// TestCheck_OfUnits_UsesNoNetwork compares a check in a network namespace, in which
// nothing can be reached, with one outside.
func TestCheck_OfUnits_UsesNoNetwork(t *testing.T) {
	isolated := []string{"unshare", "--net"}
	if os.Geteuid() != 0 {
		isolated = []string{"unshare", "--user", "--map-root-user", "--net"}
		if exec.Command(isolated[0], append(isolated[1:], "true")...).Run() != nil {
			t.Skip("network namespaces need root here; run the test as root")
		}
	}
	folder(t, map[string]string{
		"k/kustomization.yaml": "resources: [job.yaml, 'https://github.com/usher-dev/usher//deploy/base?ref=main', 'https://example.com/a.yaml']", "k/job.yaml": brokenJob,
		"c/Chart.yaml": webChart + "dependencies: [{name: redis, version: 1.0.0, repository: 'https://charts.example.com'}]\n", "c/values.schema.json": `{"$ref": "https://example.com/schema.json"}`, "c/templates/job.yaml": soundJob,
	})
	checked := func(command ...string) string {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], os.Args[0], "check", ".")...)
		cmd.Env = append(os.Environ(), asUsher+"=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != cli.Failed {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
		return string(out)
	}
	outside := checked("env")
	if diff := cmp.Diff(outside, checked(isolated...)); diff != "" {
		t.Errorf("without a network (-with +without):\n%s", diff)
	}
	for _, want := range []string{"k/job.yaml:7:7: invariant", "k: built without resources", "because their schema refers to https://example.com/schema.json", "c: rendered without dependencies"} {
		if !strings.Contains(outside, want) {
			t.Errorf("the output lacks %q:\n%s", want, outside)
		}
	}
}
