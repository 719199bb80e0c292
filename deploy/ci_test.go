package deploy_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository creates a git repository with a commit of the old files, and the new
// files in its working tree, and returns its folder and the commit.
func repository(t *testing.T, old, changed map[string]string) (folder, base string) {
	t.Helper()
	folder = t.TempDir()
	write := func(files map[string]string) {
		for name, text := range files {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	write(old)
	git("add", ".")
	git("commit", "--quiet", "--allow-empty", "-m", "old")
	for name := range old {
		if _, stays := changed[name]; !stays {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(changed)
	return folder, git("rev-parse", "HEAD")
}

// script runs a script of deploy/ci in a folder, with programs in PATH.
func script(t *testing.T, folder, path string, environment []string, args ...string) (out, errs string, err error) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("ci", args[0]))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	c := exec.Command(file, args[1:]...)
	c.Dir, c.Stdout, c.Stderr = folder, &stdout, &stderr
	c.Env = append(os.Environ(), append(environment, "PATH="+path+":"+os.Getenv("PATH"))...)
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

func replicas(name string, n int) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}\n", name, n)
}

const chartConfiguration = "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\ncharts: [{path: deploy/c, values: [p.yaml]}]\n"

const aChart = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

func TestActionDiff(t *testing.T) {
	usher := programs(t)
	for name, tc := range map[string]struct {
		old, changed map[string]string
		want         []string
	}{
		"a changed, a new and a deleted file": {
			old:     map[string]string{"deploy/a.yaml": replicas("a", 1), "deploy/gone.yaml": replicas("gone", 1), "other/b.yaml": replicas("b", 1)},
			changed: map[string]string{"deploy/a.yaml": replicas("a", 2), "deploy/new.yaml": replicas("new", 1), "other/b.yaml": replicas("b", 2)},
			want: []string{
				"**usher diff: 1 in place, 1 created, 1 deleted**",
				"| Deployment `a` | `spec.replicas`: `1` → `2`<br>`deploy/a.yaml:1` | **in place** | the API server |",
				"| Deployment `new` |  | created |  |", "| Deployment `gone` |  | deleted |  |",
			},
		},
		"a removed field": {
			old:     map[string]string{"deploy/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "minReadySeconds: 9", 1)},
			changed: map[string]string{"deploy/a.yaml": replicas("a", 1)},
			want:    []string{"`9` → `(absent)`<br>`deploy/a.yaml:1`"},
		},
		"a new folder":     {changed: map[string]string{"deploy/a.yaml": replicas("a", 1)}, want: []string{"**usher diff: 1 created**"}},
		"a deleted folder": {old: map[string]string{"deploy/a.yaml": replicas("a", 1)}, want: []string{"**usher diff: 1 deleted**"}},
		"a broken file hides only itself": {
			old:     map[string]string{"deploy/a.yaml": replicas("a", 1)},
			changed: map[string]string{"deploy/a.yaml": replicas("a", 2), "deploy/bad.yaml": "apiVersion: v1\nkind: Pod\na: ["},
			want:    []string{"**usher diff: 1 in place**", "- `deploy/bad.yaml:3: YAML: "},
		},
		"a file that breaks is not a deletion": {
			old:     map[string]string{"deploy/a.yaml": replicas("a", 1), "deploy/b.yaml": replicas("c", 1)},
			changed: map[string]string{"deploy/a.yaml": replicas("a", 2), "deploy/b.yaml": replicas("c", 1) + "\tx"},
			want:    []string{"**usher diff: 1 in place, 1 not compared**", "- `deploy/b.yaml:2: "},
		},
		"only a file that breaks": {
			old:     map[string]string{"deploy/b.yaml": replicas("c", 1)},
			changed: map[string]string{"deploy/b.yaml": "a: ["},
			want:    []string{"**usher diff: 1 not compared**", "- `deploy/b.yaml:1: YAML: "},
		},
		"a chart's template": {
			old:     map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 1\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ .Values.count }}", 1)},
			changed: map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 1\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ add .Values.count 4 }}", 1)},
			want:    []string{"**usher diff: 1 in place**", "| Deployment `a` | `spec.replicas`: `1` → `5`<br>`deploy/c/templates/a.yaml` | **in place** |"},
		},
		"a chart's values": {
			old:     map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 1\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ .Values.count }}", 1)},
			changed: map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 3\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ .Values.count }}", 1)},
			want:    []string{"**usher diff: 1 in place**", "| Deployment `a` | `spec.replicas`: `1` → `3`"},
		},
		"a chart with the configuration's values": {
			old:     map[string]string{".usher.yaml": chartConfiguration, "p.yaml": "count: 9\n", "deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 1\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ .Values.count }}", 1)},
			changed: map[string]string{".usher.yaml": chartConfiguration, "p.yaml": "count: 9\n", "deploy/c/Chart.yaml": aChart, "deploy/c/values.yaml": "count: 2\n", "deploy/c/templates/a.yaml": strings.Replace(replicas("a", 1), "replicas: 1", "replicas: {{ add .Values.count 1 }}", 1)},
			want:    []string{"| Deployment `a` | `spec.replicas`: `9` → `10`"},
		},
		"a kustomization": {
			old:     map[string]string{"deploy/k/kustomization.yaml": "resources: [a.yaml]\n", "deploy/k/a.yaml": replicas("a", 1)},
			changed: map[string]string{"deploy/k/kustomization.yaml": "resources: [a.yaml]\nreplicas: [{name: a, count: 7}]\n", "deploy/k/a.yaml": replicas("a", 1)},
			want:    []string{"**usher diff: 1 in place**", "| Deployment `a` | `spec.replicas`: `1` → `7`"},
		},
		"a chart that breaks is not a deletion": {
			old:     map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/templates/a.yaml": replicas("a", 1), "deploy/d.yaml": replicas("d", 1)},
			changed: map[string]string{"deploy/c/Chart.yaml": aChart, "deploy/c/templates/a.yaml": "{{ fail \"no image\" }}\n", "deploy/d.yaml": replicas("d", 2)},
			want:    []string{"1 in place", "1 not compared", "no image"},
		},
		"an invalid configuration": {
			old:     map[string]string{"deploy/a.yaml": replicas("a", 1)},
			changed: map[string]string{"deploy/a.yaml": replicas("a", 2), ".usher.yaml": "{apiVersion: config.usher.dev/v1alpha1, kind: Configuration, polices: {}}"},
			want:    []string{"**usher diff: nothing compared**", "polices"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, base := repository(t, tc.old, tc.changed)
			out, errs, err := script(t, folder, usher, nil, "diff", base, "deploy")
			if err != nil {
				t.Fatalf("%v\n%s", err, errs)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("lacks %q:\n%s\n%s", want, out, errs)
				}
			}
			if strings.Contains(name, "breaks") && strings.Contains(out, "deleted") {
				t.Errorf("calls an object deleted:\n%s", out)
			}
			if strings.Contains(out, "`b`") {
				t.Errorf("has an object of another folder:\n%s", out)
			}
		})
	}
}

// TestActionCheck runs the action's check, which writes several outputs in one run.
func TestActionCheck(t *testing.T) {
	usher := programs(t)
	bad := map[string]string{"deploy/job.yaml": strings.Replace(aJob, "POLICY", "Always", 1), "deploy/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "deploy/c/templates/a.yaml": "{{ fail \"no\" }}"}
	good := map[string]string{"deploy/job.yaml": strings.Replace(aJob, "POLICY", "Never", 1), "deploy/c/Chart.yaml": bad["deploy/c/Chart.yaml"], "deploy/c/templates/a.yaml": bad["deploy/c/templates/a.yaml"]}
	const annotation, row, left = "::error file=deploy/job.yaml,line=7", "| `deploy/job.yaml` | 1 | line 7: spec.template.spec.restartPolicy", "\n- chart `deploy/c`: `"
	for name, tc := range map[string]struct {
		files         map[string]string
		environment   []string
		status        int
		out           string
		summary       []string
		page, written bool // html, and SARIF
	}{
		"a finding":            {files: bad, status: 1, out: annotation, summary: []string{"**usher check: 1 invariant", row, left}},
		"every output":         {files: bad, environment: []string{"USHER_OUTPUT=html=report.html github", "USHER_SARIF=usher.sarif"}, status: 1, out: annotation, summary: []string{row}, page: true, written: true},
		"no finding":           {files: good, summary: []string{"**usher check: 0 invariant", left}},
		"strict":               {files: good, environment: []string{"USHER_STRICT=true"}, status: 1, summary: []string{left}},
		"a wrong word":         {files: good, environment: []string{"USHER_STRICT=yes"}, status: 2},
		"a level that is off":  {files: bad, environment: []string{"USHER_FAIL_ON=off", "USHER_LEVEL=invariant"}, out: annotation, summary: []string{row}},
		"a level that is not":  {files: bad, environment: []string{"USHER_LEVEL=all"}, status: 2},
		"another format":       {files: bad, environment: []string{"USHER_OUTPUT=text"}, status: 1, out: "deploy/job.yaml:7:7: invariant", summary: []string{row}},
		"a format that is not": {files: bad, environment: []string{"USHER_OUTPUT=txt"}, status: 2},
	} {
		t.Run(name, func(t *testing.T) {
			folder, _ := repository(t, nil, tc.files)
			summary := filepath.Join(folder, "summary")
			out, errs, err := script(t, folder, usher, append(tc.environment, "GITHUB_STEP_SUMMARY="+summary), "check", "deploy")
			status := 0
			if exit := (&exec.ExitError{}); errors.As(err, &exit) {
				status = exit.ExitCode()
			}
			if status != tc.status || !strings.Contains(out, tc.out) || tc.out == "" && out != "" {
				t.Errorf("status %d, want %d, stdout %q\n%s", status, tc.status, out, errs)
			}
			text, _ := os.ReadFile(summary)
			for _, want := range tc.summary {
				if !strings.Contains(string(text), want) {
					t.Errorf("the summary lacks %q:\n%s", want, text)
				}
			}
			for file, want := range map[string]bool{"report.html": tc.page, "usher.sarif": tc.written} {
				if content, _ := os.ReadFile(filepath.Join(folder, file)); want != strings.Contains(string(content), "job-restart-policy") {
					t.Errorf("%s: %.100q", file, content)
				}
			}
		})
	}
}

// gh stands in for GitHub's program, because GitHub does not answer a test: it
// logs its arguments and the body, and answers as the test says.
const gh = `#!/usr/bin/env bash
echo "$*" | sed 's|body=@.*|body|' >>"$LOG"
for a in "$@"; do case $a in body=@*) cp "${a#body=@}" "$LOG.body";; esac; done
if [[ -n $FAILS ]]; then echo "gh: $FAILS" >&2; exit 1; fi
case "$*" in *per_page*) echo -n "$COMMENTS";; esac
`

func TestActionComment(t *testing.T) {
	const repository = "GITHUB_REPOSITORY=shop/deploy"
	table := "**usher diff: 1 rollout**\n\n| object |\n|---|\n| a |\n"
	long := table + strings.Repeat("| äöü |\n", 20_000)
	for name, tc := range map[string]struct {
		file, comments, fails string
		calls                 []string // after the list of comments
		notice                string
		cut                   bool
	}{
		"the first comment":      {file: table, calls: []string{"api --silent --method POST repos/shop/deploy/issues/7/comments -F body"}},
		"a later run updates it": {file: table, comments: "41\n42\n", calls: []string{"api --silent --method PATCH repos/shop/deploy/issues/comments/41 -F body"}},
		"no changes":             {file: "**usher diff: 3 unchanged**\n"},
		"errors alone": {file: "**usher diff: 1 not compared**\n\nusher could not read all input:\n\n- `a.yaml:1: YAML`\n",
			calls: []string{"api --silent --method POST repos/shop/deploy/issues/7/comments -F body"}},
		"no changes any more": {file: "**usher diff: 3 unchanged**\n", comments: "41\n", calls: []string{"api --silent --method PATCH repos/shop/deploy/issues/comments/41 -F body"}},
		"a fork without the right to comment": {
			file: table, fails: "Resource not accessible by integration (HTTP 403)",
			notice: "::notice title=usher diff::No comment was written: gh: Resource not accessible by integration (HTTP 403). It needs the permission pull-requests: write",
		},
		"more than a comment may have": {file: long, calls: []string{"api --silent --method POST repos/shop/deploy/issues/7/comments -F body"}, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file, log := filepath.Join(folder, "diff.md"), filepath.Join(folder, "log")
			for path, text := range map[string]string{file: tc.file, filepath.Join(folder, "gh"): gh, log: "", log + ".body": ""} {
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			_, errs, err := script(t, folder, folder, []string{repository, "LOG=" + log, "COMMENTS=" + tc.comments, "FAILS=" + tc.fails}, "comment", file, "7")
			if err != nil || !strings.Contains(errs, tc.notice) || tc.notice == "" && errs != "" {
				t.Fatalf("%v, stderr %q", err, errs)
			}
			calls := strings.Split(strings.TrimSpace(readFile(t, log)), "\n")
			if !strings.HasPrefix(calls[0], "api --paginate repos/shop/deploy/issues/7/comments?per_page=100") || strings.Join(calls[1:], "\n") != strings.Join(tc.calls, "\n") {
				t.Errorf("calls:\n%s", strings.Join(calls, "\n"))
			}
			if len(tc.calls) == 0 {
				return
			}
			body := readFile(t, log+".body")
			if tc.cut {
				if len(body) > 65536 || len(body) < 60_000 || !strings.HasPrefix(body, "<!-- usher diff -->\n_This comment is cut") || !strings.HasSuffix(body, "| äöü |\n") {
					t.Errorf("body of %d bytes: %.200s … %s", len(body), body, body[len(body)-20:])
				}
			} else if want := "<!-- usher diff -->\n" + tc.file; body != want {
				t.Errorf("body %q, want %q", body, want)
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
