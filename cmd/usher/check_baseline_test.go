package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

// twoContainers is a Job whose containers have the same findings of the API server.
const twoContainers = `apiVersion: batch/v1
kind: Job
metadata: {name: two}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: a, image: 'a:1', imagePullPolicy: Sometimes}
      - {name: b, image: 'b:1'}
`

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

func TestCheck_Baseline(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {NAME}\nspec: {completions: 0, template: {spec: {restartPolicy: Always, containers: [{name: a, image: 'a:1'}]}}}\n"
	chart := map[string]string{"c/Chart.yaml": webChart, "c/templates/job.yaml": strings.Replace(job, "NAME", `name: "web-{{ randAlpha 12 | lower }}", annotations: {roll: "{{ randAlphaNum 5 }}"}`, 1)}
	for name, c := range map[string]struct {
		before, after map[string]string
		args          []string // of the second check
		status        int
		out           string   // the whole standard output of the second check
		errs          []string // parts of its standard error
		not           string   // what standard error does not contain
	}{
		"nothing changed": {
			before: map[string]string{"job.yaml": brokenJob}, errs: []string{"1 known from known.yaml\n"}, not: "no longer",
		},
		"lines moved and items changed places": {
			before: map[string]string{"job.yaml": twoContainers},
			after: map[string]string{"job.yaml": "# a comment\n\n" + replaced(twoContainers,
				"      - {name: a, image: 'a:1', imagePullPolicy: Sometimes}\n", "", "      - {name: b, image: 'b:1'}\n", "      - {name: b, image: 'b:1'}\n      - {name: a, image: 'a:1', imagePullPolicy: Sometimes}\n")},
			errs: []string{"1 known from known.yaml\n"}, not: "no longer",
		},
		"a finding in another container is new": {
			before: map[string]string{"job.yaml": twoContainers},
			after:  map[string]string{"job.yaml": replaced(twoContainers, "image: 'a:1', imagePullPolicy: Sometimes", "image: 'a:1'", "image: 'b:1'}", "image: 'b:1', imagePullPolicy: Sometimes}")},
			status: cli.Failed,
			out:    "job.yaml:10:33: invariant: spec.template.spec.containers[1].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"IfNotPresent\", \"Never\" (pod-containers)\n",
			errs:   []string{"0 known from known.yaml\n", "1 entry of known.yaml no longer occurs: remove it"},
		},
		"one more of the same is new": {
			before: map[string]string{"job.yaml": brokenJob}, after: map[string]string{"job.yaml": brokenJob + "---\n" + replaced(brokenJob, "report", "second")},
			status: cli.Failed, out: "job.yaml:16:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
			errs: []string{"1 known from known.yaml\n"},
		},
		"the same finding of another object is new": {
			before: map[string]string{"job.yaml": brokenJob + "---\n" + replaced(soundJob, "report", "second")},
			after:  map[string]string{"job.yaml": soundJob + "---\n" + replaced(brokenJob, "report", "second")},
			status: cli.Failed, out: "job.yaml:12:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n", errs: []string{"0 known from known.yaml\n", "1 entry of known.yaml no longer occurs"},
		},
		"a baseline of version 1, which has no names": {
			before: map[string]string{"job.yaml": brokenJob},
			after: map[string]string{
				"job.yaml":   replaced(brokenJob, "report", "renamed"),
				"known.yaml": "version: 1\nfindings:\n- {file: job.yaml, rule: job-restart-policy, kind: Job, field: spec.template.spec.restartPolicy, message: 'Required value: valid values: \"…\", \"…\"'}\n",
			},
			errs: []string{"1 known from known.yaml\n"}, not: "no longer",
		},
		"a third equal finding is new": {
			before: map[string]string{"job.yaml": brokenJob + "---\n" + replaced(brokenJob, "report", "second")},
			after:  map[string]string{"job.yaml": brokenJob + "---\n" + replaced(brokenJob, "report", "second") + "---\n" + replaced(brokenJob, "report", "third")},
			status: cli.Failed, out: "job.yaml:25:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
			errs: []string{"2 known from known.yaml\n"}, not: "no longer",
		},
		"another file is new": {
			before: map[string]string{"job.yaml": brokenJob}, after: map[string]string{"b.yaml": brokenJob},
			status: cli.Failed, out: "b.yaml:7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n",
		},
		"names that a chart generates": {before: chart, errs: []string{"2 known from known.yaml\n"}, not: "no longer"},
		"names with the hash of kustomize": {
			before: map[string]string{
				"k/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: config, literals: [a=1]}\n",
				"k/job.yaml":           strings.Replace(brokenJob, "image: 'a:1'", "image: 'a:1', envFrom: [{configMapRef: {name: config}}, {}]", 1),
			},
			after: map[string]string{"k/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: config, literals: [a=2]}\n"},
			errs:  []string{"2 known from known.yaml\n"}, not: "no longer",
		},
		"entries that are fixed": {
			before: map[string]string{"a.yaml": brokenJob, "b.yaml": brokenJob}, after: map[string]string{"a.yaml": soundJob, "b.yaml": soundJob},
			errs: []string{"0 known from known.yaml\n", "2 entries of known.yaml no longer occur: remove them, or write the file again with --write-baseline known.yaml\n"},
		},
		"entries of files that are not checked may still occur": {
			before: map[string]string{"a/job.yaml": brokenJob, "b/job.yaml": brokenJob}, args: []string{"a"}, errs: []string{"1 known from"}, not: "no longer",
		},
		"entries of a rule that is not checked may still occur": {
			before: map[string]string{"job.yaml": brokenJob}, args: []string{"--rule", "job-zero-work", "."}, not: "no longer",
		},
		"entries below the level still occur": {
			before: map[string]string{"job.yaml": strings.Replace(soundJob, "spec: {", "spec: {completions: 0, ", 1)}, args: []string{"--level", "invariant", "."}, not: "no longer",
		},
		"a chart that does not render may still have its findings": {
			before: chart, after: map[string]string{"c/templates/a.yaml": "{{ fail \"no\" }}", "sound.yaml": soundJob}, errs: []string{"0 known from"}, not: "no longer",
		},
		"a path that is written differently": {before: map[string]string{"a/job.yaml": brokenJob}, args: []string{"./a/../a"}, errs: []string{"1 known from"}, not: "no longer"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for path, text := range c.before {
				files[path] = text
			}
			folder(t, files)
			if status, out, errs := command("", "check", "--write-baseline", "known.yaml", "."); status != cli.Clean || out != "" || !strings.Contains(errs, " written to known.yaml\n") {
				t.Fatalf("status %d\n%s%s", status, out, errs)
			}
			write(t, c.after)
			args := c.args
			if args == nil {
				args = []string{"."}
			}
			status, out, errs := command("", append([]string{"check", "--baseline", "known.yaml"}, args...)...)
			if diff := cmp.Diff(c.out, out); diff != "" || status != c.status {
				t.Errorf("status %d, want %d, output (-want +got):\n%s%s", status, c.status, diff, errs)
			}
			for _, want := range c.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("standard error lacks %q:\n%s", want, errs)
				}
			}
			if c.not != "" && strings.Contains(errs, c.not) {
				t.Errorf("standard error has %q:\n%s", c.not, errs)
			}
		})
	}
}

// TestCheck_Baseline_File compares the whole file, which people read in reviews.
func TestCheck_Baseline_File(t *testing.T) {
	folder(t, map[string]string{
		"b.yaml": brokenJob + "---\n" + brokenJob,
		"a.yaml": `apiVersion: v1
kind: Secret
metadata: {name: a}
data: {password: hunter2 is not base64}
stringData: {p: [hunter2]}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, image: 'a:1', env: [{name: A, value: hunter2}, {name: B, value: 70077}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{name: main, image: 'a:1', env: [{name: "", value: hunter2}, {name: C, value: 'x"hunter2"y', valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]}
`,
	})
	for range 2 { // writing it again does not change it
		if status, _, errs := command("", "check", "--write-baseline", "known.yaml", "."); status != cli.Clean {
			t.Fatalf("status %d\n%s", status, errs)
		}
		got, err := os.ReadFile("known.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), "hunter2") || strings.Contains(string(got), "70077") {
			t.Errorf("the baseline contains a value:\n%s", got)
		}
		want := `# Known findings, which usher check --baseline does not report. usher check --write-baseline writes this file.
version: 2
findings:
  - file: a.yaml
    rule: container-env
    kind: Pod
    name: b
    field: spec.containers[main].env[0].name
    message: Required value
  - file: a.yaml
    rule: container-env
    kind: Pod
    name: b
    field: spec.containers[main].env[C].valueFrom
    message: 'Invalid value: "…": may not be specified when ` + "`value`" + ` is not empty'
  - file: a.yaml
    rule: undecodable-object
    kind: Pod
    name: a
    field: spec.containers[main].env[B].value
    message: 'value is a number: write a string (quote it)'
  - file: a.yaml
    rule: undecodable-object
    kind: Secret
    name: a
    field: data.password
    message: 'password is a string, which does not decode: illegal base64 data at input byte 7'
  - file: a.yaml
    rule: undecodable-object
    kind: Secret
    name: a
    field: stringData.p
    message: 'p is a list: write a string (quote it)'
  - file: b.yaml
    rule: job-restart-policy
    kind: Job
    namespace: team
    name: report
    field: spec.template.spec.restartPolicy
    message: 'Required value: valid values: "…", "…"'
    count: 2
`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("baseline (-want +got):\n%s", diff)
		}
	}
}

func TestCheck_Baseline_ThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		args []string
		want string
	}{
		"none":             {"", []string{"--baseline", "none.yaml"}, "--baseline: the baseline none.yaml does not exist: write it with --write-baseline none.yaml"},
		"another document": {soundJob, []string{"--baseline", "known.yaml"}, "known.yaml is not a baseline of usher: "},
		"no YAML":          {"a: [", []string{"--baseline", "known.yaml"}, "write it again with --write-baseline known.yaml"},
		"empty":            {"", []string{"--baseline", "known.yaml"}, "it is empty"},
		"another version":  {"version: 3\nfindings: []\n", []string{"--baseline", "known.yaml"}, "its version is 3, and this usher reads versions up to 2"},
		"no rule":          {"version: 1\nfindings: [{file: a.yaml, kind: Job, message: is wrong}]\n", []string{"--baseline", "known.yaml"}, "findings[0] lacks a file or a rule"},
		"both":             {"", []string{"--baseline", "known.yaml", "--write-baseline", "known.yaml"}, "exclude each other"},
		"broken input":     {"version: 1\nfindings: []\n", []string{"--write-baseline", "known.yaml", "broken.yaml"}, "known.yaml is not written, because the input cannot be read completely"},
		"no folder":        {"", []string{"--write-baseline", "nowhere/known.yaml"}, "writing the baseline: "},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"job.yaml": soundJob, "known.yaml": c.text, "broken.yaml": "apiVersion: v1\nkind: [\n"})
			status, out, errs := command("", append([]string{"check", "job.yaml"}, c.args...)...)
			if status != cli.Usage || !strings.Contains(errs, c.want) {
				t.Errorf("status %d, want %q in\n%s%s", status, c.want, out, errs)
			}
			if got, _ := os.ReadFile("known.yaml"); string(got) != c.text {
				t.Errorf("the file has become %q", got)
			}
		})
	}
}

func TestCheck_Baseline_ExemptFindingsAreNotInIt(t *testing.T) {
	folder(t, map[string]string{"job.yaml": zeroWork, ".usher.yaml": "policies: {exemptions: {allowed: true}}\n"})
	_, out, errs := command("", "check", "--write-baseline", "known.yaml", ".")
	if !strings.Contains(out, "[exempt: it is a template]") || !strings.Contains(errs, "0 findings written to known.yaml") {
		t.Errorf("%s%s", out, errs)
	}
}

func TestCheck_SARIF_FingerprintsStayWhenLinesMove(t *testing.T) {
	prints := func(text string) (all []string) {
		folder(t, map[string]string{"job.yaml": text})
		_, out, _ := command("", "check", "-o", "sarif", ".")
		var log struct {
			Runs []struct {
				Results []struct{ PartialFingerprints map[string]string }
			}
		}
		if err := json.Unmarshal([]byte(out), &log); err != nil {
			t.Fatal(err)
		}
		for _, r := range log.Runs[0].Results {
			all = append(all, r.PartialFingerprints["primaryLocationLineHash"])
		}
		return all
	}
	before, after := prints(brokenJob), prints("\n\n"+brokenJob+"---\n"+brokenJob)
	if len(before) != 1 || len(before[0]) < 32 || len(after) != 2 || before[0] != after[0] || after[0] == after[1] {
		t.Errorf("before %q, after %q", before, after)
	}
}
