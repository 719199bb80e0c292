package deploy_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/usher-dev/usher/finding/release"
)

// hooks returns the entries of the hooks for pre-commit, in words.
func hooks(t *testing.T) map[string][]string {
	t.Helper()
	var hooks []struct {
		ID, Entry string
		Types     []string `json:"types_or"`
		Serial    bool     `json:"require_serial"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../.pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	entries := map[string][]string{}
	for _, h := range hooks {
		if !slices.Equal(h.Types, []string{"yaml", "json"}) || !h.Serial {
			t.Errorf("%s gets files of the types %v, in one process: %t", h.ID, h.Types, h.Serial)
		}
		entries[h.ID] = strings.Fields(h.Entry)
	}
	return entries
}

func TestPreCommit_EveryHookRunsTheSameCheck(t *testing.T) {
	entries := hooks(t)
	if want := "ghcr.io/usher-dev/usher-cli:" + release.Next; entries["usher-check-docker"][0] != want {
		t.Errorf("usher-check-docker runs the image %s, want %s", entries["usher-check-docker"][0], want)
	}
	for _, id := range []string{"usher-check", "usher-check-system", "usher-check-docker"} {
		if got := strings.Join(entries[id][1:], " "); got != "check --as-found --allow-empty" {
			t.Errorf("%s runs %q", id, got)
		}
	}
}

const aJob = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sync}\nspec:\n  template:\n    spec:\n      restartPolicy: POLICY\n      containers: [{name: sync, image: 'registry.example/sync:1'}]\n"

// TestPreCommit_NamesFiles_UsherChecksTheirUnits runs a hook as pre-commit does, which
// names the files of a commit.
func TestPreCommit_NamesFiles_UsherChecksTheirUnits(t *testing.T) {
	job := func(policy string) string { return strings.Replace(aJob, "POLICY", policy, 1) }
	const finding = ":7:7: invariant: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (job-restart-policy)\n"
	files := map[string]string{
		".usher.yaml":                    "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npaths: {exclude: ['**/testdata']}\n",
		".github/workflows/ci.yml":       "on: push\njobs: {}\n",
		"package.json":                   "{\"name\": \"web\"}\n",
		"testdata/bad.yaml":              job("Always"),
		"charts/web/Chart.yaml":          "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"charts/web/values.yaml":         "policy: Never\n",
		"charts/web/templates/job.yaml":  job("{{ .Values.policy }}"),
		"charts/web/templates/good.yaml": "{{- if .Values.more }}\n" + job("Never") + "{{- end }}\n",
		"k/kustomization.yaml":           "resources: [job.yaml]\npatches: [{path: patch.yaml}]\n",
		"k/job.yaml":                     job("Never"),
		"k/patch.yaml":                   "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sync}\nspec: {template: {spec: {restartPolicy: Never}}}\n",
		"other/good.yaml":                job("Never"),
	}
	for name, tc := range map[string]struct {
		changed map[string]string
		out     string
	}{
		"every file":               {changed: files},
		"what usher does not read": {changed: map[string]string{"package.json": "{}", "testdata/bad.yaml": job("Always") + "\n", ".github/workflows/ci.yml": "on: [push]\n"}},
		"the values of a chart":    {changed: map[string]string{"charts/web/values.yaml": "policy: Always\n"}, out: "charts/web/templates/job.yaml" + finding},
		"a template of a chart":    {changed: map[string]string{"charts/web/templates/job.yaml": job("Always")}, out: "charts/web/templates/job.yaml" + finding},
		"a patch":                  {changed: map[string]string{"k/patch.yaml": strings.Replace(files["k/patch.yaml"], "Never", "Always", 1)}, out: "k/job.yaml" + finding},
		"a chart and a patch, with a file that is not theirs": {
			changed: map[string]string{"charts/web/values.yaml": "policy: Always\n", "k/patch.yaml": strings.Replace(files["k/patch.yaml"], "Never", "Always", 1), "package.json": "{}"},
			out:     "charts/web/templates/job.yaml" + finding + "k/job.yaml" + finding,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, names := map[string]string{}, []string(nil)
			for file, text := range files {
				all[file] = text
			}
			for file, text := range tc.changed {
				all[file] = text
				names = append(names, file)
			}
			slices.Sort(names)
			folder, _ := repository(t, files, all)
			entry := hooks(t)["usher-check-system"]
			cmd := exec.Command(filepath.Join(programs(t), entry[0]), append(entry[1:], names...)...)
			cmd.Dir = folder
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if string(out) != tc.out {
				t.Errorf("prints %q, want %q\n%s", out, tc.out, errs.String())
			}
			if status := (&exec.ExitError{}); tc.out == "" && err != nil || tc.out != "" && (!errors.As(err, &status) || status.ExitCode() != 1) {
				t.Errorf("%v\n%s", err, errs.String())
			}
		})
	}
}
