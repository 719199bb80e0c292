package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

const (
	brokenJob = `apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: team}
spec:
  template:
    spec:
      restartPolicy: Always
      containers: [{name: a, image: 'a:1'}]
`
	soundJob = `apiVersion: batch/v1
kind: Job
metadata: {name: sound}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}
`
	zeroWork = `apiVersion: batch/v1
kind: Job
metadata:
  name: idle
  annotations: {policy.usher.dev/exempt: job-zero-work, policy.usher.dev/exempt-reason: it is a template}
spec: {completions: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}
`
)

// folder creates a folder of files to check, and changes to it, so that no
// configuration above it is found.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files[".usher.yaml"] += "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\n"
	t.Chdir(dir)
	write(t, files)
}

// write writes files into the current folder.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckSaysWhereWhatAndWhy(t *testing.T) {
	folder(t, map[string]string{"job.yaml": brokenJob})
	status, out, errs := command("", "check", "job.yaml")
	want := "job.yaml:7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n"
	if diff := cmp.Diff(want, out); diff != "" || status != cli.Failed {
		t.Errorf("status %d, stderr %q, findings (-want +got):\n%s", status, errs, diff)
	}
}

// widget has a kind that is not defined.
const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"

func TestCheckExitStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		args  []string
		want  int
	}{
		"a sound object is clean":                       {soundJob, nil, cli.Clean},
		"an invariant fails":                            {brokenJob, nil, cli.Failed},
		"a baseline finding only reports":               {zeroWork, nil, cli.Clean},
		"a baseline finding fails where asked":          {zeroWork, []string{"--fail-on", "baseline"}, cli.Failed},
		"nothing fails where that is off":               {brokenJob, []string{"--fail-on", "off"}, cli.Clean},
		"a rule left out does not fail":                 {brokenJob, []string{"--exclude", "job-restart-policy"}, cli.Clean},
		"another rule alone does not fail":              {brokenJob, []string{"--rule", "job-pfp-never"}, cli.Clean},
		"what does not decode is a finding":             {strings.Replace(soundJob, "name: sound", "name: 7", 1), nil, cli.Failed},
		"broken YAML next to a finding is bad input":    {brokenJob + "---\na: [\n", nil, cli.Usage},
		"no object at all in what was named":            {"a: b\n", nil, cli.Usage},
		"an unknown rule is bad usage":                  {soundJob, []string{"--rule", "nope"}, cli.Usage},
		"an unknown format is bad usage":                {soundJob, []string{"-o", "xml"}, cli.Usage},
		"an unknown level is bad usage":                 {soundJob, []string{"--level", "high"}, cli.Usage},
		"a configuration that is missing is bad usage":  {soundJob, []string{"--config", "nowhere.yaml"}, cli.Usage},
		"a key written twice is a finding":              {"kind: Job\n" + soundJob, nil, cli.Failed},
		"a kind without rules is judged by the server":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n", nil, cli.Failed},
		"an unknown kind is counted, and no finding":    {soundJob + "---\n" + widget, nil, cli.Clean},
		"an unknown kind fails where asked":             {soundJob + "---\n" + widget, []string{"--unknown-kinds", "fail"}, cli.Failed},
		"nothing but unknown kinds is bad input":        {widget, nil, cli.Usage},
		"what becomes of unknown kinds is one of three": {soundJob, []string{"--unknown-kinds", "maybe"}, cli.Usage},
		"an older server than is known is bad usage":    {soundJob, []string{"--kubernetes-version", "1.29"}, cli.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{})
			if status, out, errs := command(c.input, append([]string{"check", "-"}, c.args...)...); status != c.want {
				t.Errorf("status %d, want %d\n%s%s", status, c.want, out, errs)
			}
		})
	}
}

func TestOneBadDocumentDoesNotHideTheOthers(t *testing.T) {
	folder(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: [\n---\n" + brokenJob, "notes.yaml": "just: notes\n"})
	status, out, errs := command("", "check", ".")
	if status != cli.Usage || !strings.Contains(out, "a.yaml:10:7: invariant") || !strings.Contains(errs, "a.yaml:") || !strings.Contains(errs, "not a Kubernetes object") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

func TestExemptionsAreHonouredWhereAllowed(t *testing.T) {
	for allowed, want := range map[string]int{"true": cli.Clean, "false": cli.Failed} {
		folder(t, map[string]string{"job.yaml": zeroWork, ".usher.yaml": "policies: {exemptions: {allowed: " + allowed + "}}\n"})
		status, out, _ := command("", "check", "--fail-on", "baseline", "job.yaml")
		if status != want || strings.Contains(out, "[exempt: it is a template]") != (allowed == "true") {
			t.Errorf("allowed %s: status %d\n%s", allowed, status, out)
		}
	}
}

func TestCheckWritesJSON(t *testing.T) {
	folder(t, map[string]string{"job.yaml": brokenJob})
	_, out, _ := command("", "check", "-o", "json", "job.yaml")
	var got report.Result
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 1 || got.Summary.Invariant != 1 || got.Skipped == nil {
		t.Fatalf("result %+v", got)
	}
	f := got.Findings[0]
	if f.File != "job.yaml" || f.Line != 7 || f.Column != 7 || f.Kind != "Job" || f.Namespace != "team" || f.Name != "report" || !f.RefusedByServer || f.Field != "spec.template.spec.restartPolicy" || f.Value != "Always" {
		t.Errorf("finding %+v", f)
	}
}

func TestCheckWritesWhatMachinesRead(t *testing.T) {
	folder(t, map[string]string{"job.yaml": brokenJob})
	_, out, _ := command("", "check", "-o", "github", "job.yaml")
	if !strings.HasPrefix(out, "::error file=job.yaml,line=7,col=7,title=job-restart-policy::spec.template.spec.restartPolicy: Required value") {
		t.Errorf("github: %s", out)
	}
	_, out, _ = command("", "check", "-o", "junit", "job.yaml")
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal([]byte(out), &suites); err != nil || suites.Failures != 1 {
		t.Errorf("junit: %d failures, %v", suites.Failures, err)
	}
	_, out, _ = command("", "check", "-o", "sarif", "job.yaml")
	var log struct {
		Runs []struct {
			Results []struct{ RuleID, Level string }
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 || log.Runs[0].Results[0].Level != "error" {
		t.Errorf("sarif: %+v, %v", log, err)
	}
}
